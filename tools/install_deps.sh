#!/usr/bin/env bash
# Installs what cuzk needs: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'EOF'
usage: tools/install_deps.sh [GROUP...]

Installs Debian packages (as root, or through sudo) and npm packages (into the tree) that are
missing. Does nothing, and asks no registry, when all are there. Groups:
  build  compiler, libraries, and the npm package that holds blst's sources   (the default)
  test   test libraries, and the npm packages that the tests run as tools
  check  clang, cross compiler, emulator, style checkers: what .ci/run adds
The lists: tools/apt-packages.txt, third_party/package.json, tests/interop/package.json.
EOF
}

[ $# -gt 0 ] || set -- build
for group in "$@"; do
    case $group in
    -h | --help)
        usage
        exit 0
        ;;
    build | test | check) ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
done

install_packages "$@"
for group in "$@"; do
    case $group in
    build) npm_install third_party ;;
    test) npm_install tests/interop ;;
    check) ;;
    esac
done
