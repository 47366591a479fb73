#!/usr/bin/env bash
# Everything the CPU is measured by, in one run: see usage.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
    cat <<'EOF'
usage: bench/cpu.sh [--cuzk PROGRAM] [--out FILE] [--quick] [--keep DIR] [SECTION...]

Measures and writes one JSON with every figure, what it should be, and whether it is
(build/cpu.json; a table goes to stderr). Sections, all by default, about nine minutes on a quiet
machine with two cores of 2025:
  msm        sums of 2^14 to 2^20, both curves and groups, all patterns, one thread and two, and
             blst's in turns (5 minutes)
  ntt        transforms of 2^14 to 2^20 in all directions, in products of blst's
  keys       cuzk setup of porep-2k
  partition  a proof of porep-2k with these keys (makes them first)
  witness    the witness of a partition of 32 GiB
  prove      cold processes beside snarkjs: SHA-256 of 512, 2,048 and 16,384 bits, and Semaphore
             (2.5 minutes; circuits are compiled on the first run, which takes much longer)
  scalar     only when named: msm and ntt as on a processor without AVX-512 IFMA, up to 2^16

--quick: sizes up to 2^16, the smallest circuit, no keys and partition. --keep: measurements of
sections run before stay in DIR and go into the report. PROGRAM is build/release/bin/cuzk.
Exit code: 0 all is as it should be, 1 something is not, 2 usage.
EOF
}

cuzk=build/release/bin/cuzk
out=build/cpu.json
keep=
largest=20
sections=()
all=(msm ntt keys partition witness prove)
circuits=(sha256_512 sha256_2048 sha256_16384 semaphore20)
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --cuzk | --out | --keep)
        [ $# -gt 1 ] || { usage >&2 && exit 2; }
        printf -v "${1#--}" %s "$2"
        shift
        ;;
    --quick)
        largest=16
        all=(msm ntt witness prove)
        circuits=(sha256_512 semaphore20)
        ;;
    msm | ntt | keys | partition | witness | prove | scalar) sections+=("$1") ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done
[ ${#sections[@]} -gt 0 ] || sections=("${all[@]}")
cuzk=$(realpath "$cuzk")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
dir=${keep:-$work/results}
mkdir -p "$dir"

# measure NAME COMMAND...: its output as DIR/NAME.json, with the load before and the time it took
measure() {
    python3 bench/cpu_report.py run "$dir/$1.json" "${@:2}"
}

transforms() {
    for curve in bls12_381 bn254; do
        vs=()
        [ $curve = bn254 ] || vs=(--vs blst)
        measure "$1_$curve" "$cuzk" bench ntt --curve $curve --log2 "14..$2" --threads 1 --runs 9 \
            "${vs[@]}"
    done
}

setup() {
    [ -d "$work/params" ] || measure keys "$cuzk" setup --circuit porep-2k --threads 2 \
        --insecure-seed 00 "$work/params"
}

for section in "${sections[@]}"; do
    echo "bench/cpu.sh: $section" >&2
    case $section in
    msm) measure msm "$cuzk" bench msm --all --log2 "14..$largest" --threads 2 --runs 5 ;;
    ntt) transforms ntt "$largest" ;;
    keys) setup ;;
    partition)
        setup
        measure partition "$cuzk" bench partition --runs 1 \
            tests/vectors/porep/c1_2kib_bincode.bin "$work/params"
        ;;
    witness)
        "$cuzk" sector porep-32g --seed 63757a6b20737061727365 --sector 77 --format lotus \
            "$work/porep-32g.json"
        measure witness "$cuzk" bench witness --runs 3 "$work/porep-32g.json"
        ;;
    prove)
        CUZK_BUILD=$(dirname "$(dirname "$cuzk")") measure prove node bench/compare_snarkjs.mjs \
            --rounds 9 --snarkjs-rounds 1 "${circuits[@]}"
        ;;
    scalar)
        CUZK_CPU=scalar measure scalar_msm "$cuzk" bench msm --all --log2 14..16 --threads 2 --runs 3
        CUZK_CPU=scalar transforms scalar_ntt 16
        ;;
    esac
done
python3 bench/cpu_report.py report "$dir" "$out"
