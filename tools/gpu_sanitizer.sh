#!/usr/bin/env bash
# compute-sanitizer over small runs of every kernel of the CUDA backend: gpu_sanitizer.sh [OPTIONS]
set -euo pipefail

usage() {
    cat <<'EOF'
usage: tools/gpu_sanitizer.sh [--cuzk PROGRAM] [--vectors DIR] [--tools "memcheck racecheck"]

Runs NVIDIA's compute-sanitizer (of the CUDA toolkit) over single kernels, a key from a seed and a
whole proof, all small: a run takes some hundred times as long as without it. Every result is
checked as well. Prints one line a run and ends with 1 when one is not clean.

racecheck does not follow barriers of some warps of a block, and finds races in every sum of lists:
give it a build with -DCMAKE_CUDA_FLAGS=-DCUZK_RACECHECK, where these are barriers of the block.

  --cuzk PROGRAM   default build/cuda/bin/cuzk-full
  --vectors DIR    circom's keys, default tests/vectors/circom
  --tools LIST     of memcheck, racecheck, synccheck, initcheck; default "memcheck racecheck"

exit codes: 0 clean, 1 not, 2 usage, 77 no compute-sanitizer or no device.
EOF
}

cuzk=build/cuda/bin/cuzk-full
vectors=tests/vectors/circom
tools="memcheck racecheck"
while [ $# -gt 0 ]; do
    case $1 in
    --help) usage && exit 0 ;;
    --cuzk | --vectors | --tools)
        [ $# -ge 2 ] || { usage >&2 && exit 2; }
        printf -v "${1#--}" %s "$2"
        shift 2
        ;;
    *) usage >&2 && exit 2 ;;
    esac
done

export PATH=$PATH:/usr/local/cuda/bin
command -v compute-sanitizer >/dev/null || { echo "gpu_sanitizer: no compute-sanitizer: skipped" && exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
small=$vectors/bn128/poseidon2
if ! "$cuzk" bench field --device cuda --runs 1 >"$work/out" 2>"$work/err"; then
    cat "$work/err"
    [ "$("$cuzk" bench field --device cuda --runs 1 >/dev/null 2>&1; echo $?)" = 5 ] && exit 77
    exit 1
fi

runs=(
    "bench field --device cuda --runs 1"
    "bench ntt --device cuda --log2 1..13 --step 4 --runs 1"
    "bench msm --device cuda --log2 4..9 --step 5 --runs 1 --factor 2 --all"
    "bench bits --device cuda --log2 3..9 --step 3 --runs 1 --all"
    "bench eval --device cuda --circuit winning-2k --runs 1"
    "setup --device cuda $small/poseidon2.r1cs $work/key.zkey --insecure-seed 00"
    "prove --device cuda $work/key.zkey $small/witness.wtns $work/proof.json $work/public.json"
)
failed=0
for tool in $tools; do
    for run in "${runs[@]}"; do
        read -ra words <<<"$run"
        start=$SECONDS
        code=0
        compute-sanitizer --tool "$tool" --error-exitcode 9 "$cuzk" "${words[@]}" \
            >"$work/out" 2>"$work/err" || code=$?
        cat "$work/out" "$work/err" >"$work/all"
        summary=$(grep -hE "ERROR SUMMARY|RACECHECK SUMMARY" "$work/all" | sed 's/^=* *//' | head -1 || true)
        printf '%-9s %-72s exit %d, %d s: %s\n' "$tool" "${run//$work\//}" "$code" \
            $((SECONDS - start)) "${summary:-no summary}"
        if [ "$code" != 0 ] || [ -z "$summary" ]; then
            failed=1
            grep -hE '^=========' "$work/all" | head -20 || true
        fi
    done
done
exit $failed
