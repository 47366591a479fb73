#!/usr/bin/env bash
# Runs the fuzzers for a while: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'EOF'
usage: tools/fuzz.sh [--build DIR] [--seconds N] [TARGET...]

Runs libFuzzer targets (all of DIR/bin/fuzz_*, or those named) for N seconds each, one a core at a
time, from seeds taken out of tests/vectors and tests/fuzz/seeds/TARGET. DIR is build/fuzz (made by
`cmake --preset fuzz`), N is 60. What is found stays in DIR/corpus/TARGET between runs; an input that crashes a
target is kept as DIR/crash-* and its path printed.
EOF
}

build=$root_dir/build/fuzz
seconds=60
targets=()
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --build)
        build=$2
        shift
        ;;
    --seconds)
        seconds=$2
        shift
        ;;
    -*)
        usage >&2
        exit 2
        ;;
    *) targets+=("$1") ;;
    esac
    shift
done
build=$(cd "$build" && pwd)
if [ ${#targets[@]} -eq 0 ]; then
    for path in "$build"/bin/fuzz_*; do
        [ -x "$path" ] && targets+=("${path##*/}")
    done
fi
[ ${#targets[@]} -gt 0 ] || die "no fuzzers in $build/bin"

# Copies the vectors that suit a target's name into its corpus, small ones only.
seed() {
    local target=$1 corpus=$2 pattern size=16k
    case $target in
    *c1_json*) pattern='c1_*.json' size=160k ;;
    *c1_bincode*) pattern='c1_*.bin' size=64k ;;
    *request*) pattern='window_*.json' ;;
    *zkey*) pattern='*.zkey' ;;
    *wtns*) pattern='*.wtns' ;;
    *r1cs*) pattern='*.r1cs' ;;
    *params_vk*) pattern='*.vk' ;;
    *params*) pattern='*.params' ;;
    *vk*) pattern='verification_key.json' ;;
    *public*) pattern='public*.json' ;;
    *proof_bytes*) pattern='' ;;
    *proof*) pattern='proof*.json' ;;
    *json*) pattern='*.json' ;;
    *binfile*) pattern='*.[wr]*' ;;
    *) pattern='' ;;
    esac
    if [ -n "$pattern" ]; then
        find "$root_dir/tests/vectors" -name "$pattern" -size "-$size" | while read -r file; do
            cp "$file" "$corpus/$(printf '%s' "$file" | sha256sum | cut -c1-16)"
        done
    fi
    if [ -d "$root_dir/tests/fuzz/seeds/$target" ]; then
        cp "$root_dir/tests/fuzz/seeds/$target"/* "$corpus"
    fi
}

fuzz() {
    local target=$1 corpus=$build/corpus/$1 runs
    mkdir -p "$corpus"
    seed "$target" "$corpus"
    if ! "$build/bin/$target" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=3000 \
        -max_len=200000 -artifact_prefix="$build/crash-$target-" -print_final_stats=1 "$corpus" \
        >"$build/$target.log" 2>&1; then
        tail -n 40 "$build/$target.log"
        die "$target failed; see $build/$target.log"
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$target.log")
    printf 'fuzz: %s: %s runs, %s inputs kept\n' "$target" "$runs" "$(find "$corpus" -type f | wc -l)"
}

# One a core at a time; the first that fails ends the script when those beside it have ended.
running=0
failed=0
for target in "${targets[@]}"; do
    if [ "$running" -ge "$jobs" ]; then
        wait -n || failed=1
        running=$((running - 1))
    fi
    [ "$failed" -eq 0 ] || break
    fuzz "$target" &
    running=$((running + 1))
done
while [ "$running" -gt 0 ]; do
    wait -n || failed=1
    running=$((running - 1))
done
exit "$failed"
