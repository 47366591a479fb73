#!/usr/bin/env bash
# The main job, end to end on a real circuit: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'EOF'
usage: tools/demo.sh [--no-install] [filecoin | circom [--curve bn128|bls12381]]

Installs the Debian and npm packages that are missing (as root, or through sudo), builds cuzk, and
makes a proof from beginning to end.

filecoin (the default): a storage provider's proof that it holds a unique copy of a sector.
  1. seal a sector of 2 KiB with random data: `cuzk sector` writes the vanilla proof (C1 output)
  2. make development keys of its circuit (4 million constraints, a file of 1.1 GB)
  3. prove with `cuzk porep prove`: 192 bytes
  4. verify with `cuzk porep verify`, and see that a changed proof is refused

circom: the knowledge of a message with a given SHA-256 digest, without showing the message.
  1. compile circomlib's SHA-256 of 512 bits with circom (from npm)
  2. make a development key with `cuzk setup` and export its verification key
  3. compute the witness of a random message with circom's calculator
  4. make the proof with `cuzk prove`
  5. verify it with `cuzk verify` and with snarkjs (from npm), and compare the public signals with
     the digest that sha256sum computes

Everything is left in build/demo, and the program in build/release/bin/cuzk. Uses no network but
the Debian and npm registries, and those only for what is missing.
EOF
}

install=yes
curve=bn128
job=filecoin
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --no-install) install=no ;;
    --curve)
        curve=${2-}
        [ $# -gt 1 ] && shift
        ;;
    filecoin | circom) job=$1 ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done
[[ $curve =~ ^(bn128|bls12381)$ ]] || { usage >&2; exit 2; }

# Shows a command and runs it.
run() {
    printf '  $ %s\n' "$*"
    "$@"
}

# The bits of standard input, first byte first and its highest bit first: 0,1,1,...
bits() {
    node -e 'const bytes = [...require("fs").readFileSync(0)];
        console.log(bytes.flatMap((b) => [...b.toString(2).padStart(8, "0")]).join())'
}

filecoin_demo() {
    say "1. sealing a sector of 2 KiB: labels, trees, and the vanilla proof"
    head -c 2032 /dev/urandom >$out/data.bin # 127 of 128 bytes hold data
    run $cuzk sector porep-2k --seed "$seed" --data $out/data.bin $out/c1.json

    say "2. making development keys (their secrets follow from the seed: never use them in earnest)"
    rm -rf $out/params
    run $cuzk setup --circuit porep-2k --insecure-seed "$seed" $out/params

    say "3. proving"
    run $cuzk porep prove $out/c1.json $out/proof.bin --params $out/params --allow-insecure-keys

    say "4. verifying"
    run $cuzk porep verify $out/c1.json $out/proof.bin --params $out/params --allow-insecure-keys
    # The same points in another order are a proof of nothing.
    { tail -c 48 $out/proof.bin; tail -c +49 $out/proof.bin | head -c 96; head -c 48 $out/proof.bin; } \
        >$out/changed.bin
    if $cuzk porep verify $out/c1.json $out/changed.bin --params $out/params \
        --allow-insecure-keys 2>/dev/null; then
        die "a changed proof was accepted"
    fi
    say "done: $(wc -c <$out/proof.bin) bytes prove that a sector was sealed; a changed proof is refused"
}

circom_demo() {
    local npm=tests/interop/node_modules digest expected
    say "1. compiling the circuit"
    cat >$out/preimage.circom <<'EOF'
pragma circom 2.1.0;
include "circomlib/circuits/sha256/sha256.circom";
component main = Sha256(512);
EOF
    run node $npm/circom2/cli.js $out/preimage.circom --r1cs --wasm --prime "$curve" -l $npm -o $out

    say "2. making a development key (its secrets follow from the seed: never use it in earnest)"
    run $cuzk setup $out/preimage.r1cs $out/preimage.zkey --insecure-seed "$seed"
    run $cuzk export-vk $out/preimage.zkey $out/verification_key.json

    say "3. computing a witness"
    head -c 64 /dev/urandom >$out/message.bin
    printf '{"in": [%s]}\n' "$(bits <$out/message.bin)" >$out/input.json
    run node $out/preimage_js/generate_witness.js $out/preimage_js/preimage.wasm $out/input.json \
        $out/witness.wtns

    say "4. proving"
    run $cuzk prove $out/preimage.zkey $out/witness.wtns $out/proof.json $out/public.json --json

    say "5. verifying"
    run $cuzk verify $out/verification_key.json $out/public.json $out/proof.json
    run node $npm/snarkjs/build/cli.cjs groth16 verify $out/verification_key.json $out/public.json \
        $out/proof.json

    digest=$(sha256sum <$out/message.bin | cut -d' ' -f1)
    expected=$(printf '%s' "$digest" | node -e 'process.stdout.write(
        Buffer.from(require("fs").readFileSync(0, "utf8"), "hex"))' | bits)
    [ "$(tr -d '[]" \n' <$out/public.json)" = "$expected" ] || die "the public signals are not the digest"
    say "done: the proof shows that somebody knows a message of 64 bytes with SHA-256 $digest"
}

[ $install = no ] || "$root_dir/tools/install_deps.sh" build test
build_preset release -DCUZK_TESTS=OFF

cd "$root_dir"
cuzk=build/release/bin/cuzk
out=build/demo
mkdir -p $out
seed=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')

"${job}_demo"
