#!/usr/bin/env bash
# Installs what is missing, builds, and runs the tests: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'EOF'
usage: tools/test.sh [--no-install] [--preset NAME] [-- CTEST ARGUMENTS]

Installs the Debian and npm packages that are missing (as root, or through sudo), builds the
release preset (or NAME) into build/NAME, and runs every test with ctest: unit tests, file formats,
and interoperability with circom, snarkjs and an EVM, which come from npm. Ends with ctest's
summary. Uses no network but the Debian and npm registries, and those only for what is missing.

  --no-install   build and test with what is there
  --preset NAME  another preset of CMakePresets.json (dev, asan, tsan, clang, portable)
  -- ...         further arguments for ctest, such as -R prove or -L unit
EOF
}

preset=release
install=yes
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --no-install) install=no ;;
    --preset)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        preset=$2
        shift
        ;;
    --)
        shift
        break
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done

[ $install = no ] || "$root_dir/tools/install_deps.sh" build test
build_preset "$preset" -DCUZK_TESTS=ON
say "testing build/$preset"
cd "$root_dir"
# Two more than there are processors: many tests wait for daemons and clocks most of the time.
exec ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j $((jobs + 2)) "$@"
