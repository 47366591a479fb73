#!/usr/bin/env bash
# Witnesses and row values of Filecoin's circuits: see usage.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'EOF'
usage: bench/filecoin.sh [--cuzk PROGRAM] [--out DIR] [--window] [NAME...]

Makes the sectors that tests/vectors/porep were made from, runs `cuzk bench witness` and `cuzk bench
eval` on partition 0 of each, and compares the digests with the reference implementation's. Writes
DIR/filecoin_NAME_witness.json and ..._eval.json (bench/results by default). NAME: porep-512m
porep-32g snap-32g winning-32g (all four by default). --window adds wpost-32g, which takes two
minutes of two cores and 4.2 GB. PROGRAM is build/release/bin/cuzk.
EOF
}

cuzk=build/release/bin/cuzk
out=bench/results
names=()
window=
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --cuzk)
        cuzk=$2
        shift
        ;;
    --out)
        out=$2
        shift
        ;;
    --window) window=wpost-32g ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) names+=("$1") ;;
    esac
    shift
done
[ ${#names[@]} -gt 0 ] || names=(porep-512m porep-32g snap-32g winning-32g)
[ -z "$window" ] || names+=("$window")

cuzk=$(realpath "$cuzk")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# NAME, its digests: witness, then A w, B w, C w where known.
digests() {
    case $1 in
    porep-512m) echo 21fb095047ee4029ddc39175caab7eb1ac47eba19b8e1b4ad847ac456195663e ;;
    porep-32g)
        echo 834221e846b502e3cae3fddc130562500e0187a97b374139eaaa86e47e2a2a78 \
            4097883af929920ab319719b605ec7ec6590bd6e4cd4dc174bca5b38e89a5b72 \
            962e863f78e447182764c98ce0829202cd8cb90008bbfbe68e40cd4224eaed65 \
            60d8012e06753ba93665e6e2d791379b39caa13389bdb9e1d9ca077ccd092b30
        ;;
    winning-32g) echo eb7120145599de5c312958eabb68f36b56d9fdec2e05f99aad2dc1eddf887d23 ;;
    wpost-32g)
        echo 12c0d4a36b3668d8b2a150b204c1277ea9b2cddfbf1cc6943e7b8d3911d80d6c \
            dc6e89c755de4714d537e2f021953431149f8bac4501d9ff0102f4839a3a44c7 \
            0647fbad59671b61fe79fa361737bf76bbc1e740fbc8a90e01987722a1734a2a \
            1caa3ee5236d824b254f09fc5984b17e5105ee15f3643a54ae440b66482ef1e9
        ;;
    snap-32g)
        echo eb733daa66637daca701a5ce9c47a41a88509c9c9b2fe853b0dd051a4563b173 \
            0bd51c94ff46fce9ecb547da043f541a5245802c36a6402d31d61c52c36d5948 \
            39bd55ea7a2e298cfb0cb90fc1f1b1f5567f7298137f1396ba8df02274503c2e \
            dc45ae085ba9c4999a6f5e4c82dd41cb182789983e7960fa0fba987f2f58b0a2
        ;;
    *)
        echo "bench/filecoin.sh: no digests of $1" >&2
        return 1
        ;;
    esac
}

seed=63757a6b20737061727365 # "cuzk sparse"
for name in "${names[@]}"; do
    read -ra want <<<"$(digests "$name")"
    runs=3
    more=()
    case $name in
    porep-*) more=(--format lotus) ;;
    wpost-*)
        runs=1
        more=(--sectors 3 --registered-proof 13)
        ;;
    esac
    "$cuzk" sector "$name" --seed $seed --sector 77 "${more[@]}" "$dir/$name.json"
    for op in witness eval; do
        file=$out/filecoin_${name}_$op.json
        (cd "$dir" && "$cuzk" bench $op --runs $runs "$name.json") >"$dir/result.json"
        for i in "${!want[@]}"; do
            if { [ $op = witness ] && [ "$i" = 0 ]; } || { [ $op = eval ] && [ "$i" -gt 0 ]; }; then
                grep -q "${want[$i]}" "$dir/result.json" || {
                    echo "bench/filecoin.sh: $name: $op: digest ${want[$i]} is not there" >&2
                    exit 1
                }
            fi
        done
        mv "$dir/result.json" "$file"
        echo "$file: $(grep -o '"core_seconds":[0-9.]*' "$file"), $(grep -o '"verified":[a-z]*' "$file")"
    done
done
