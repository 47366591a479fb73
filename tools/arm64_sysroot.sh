#!/usr/bin/env bash
# Unpacks Debian's arm64 libraries for the cross build: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

# Needed to link, and the run-time libraries that the emulator then finds.
packages=(libc6 libc6-dev libgcc-s1 libssl3 libssl-dev libjansson4 libjansson-dev libxxhash0
    libxxhash-dev libcmocka0 libcmocka-dev libgmp10 libgmp-dev linux-libc-dev)

case ${1-} in
-h | --help | "")
    cat <<EOF
usage: tools/arm64_sysroot.sh DIRECTORY

Downloads these packages of Debian's arm64 from the machine's own apt sources and unpacks them
into DIRECTORY. Needs no root, and changes neither dpkg's architectures nor apt's lists:
  ${packages[*]}
EOF
    [ -n "${1-}" ]
    exit
    ;;
esac

mkdir -p "$1"
dir=$(cd "$1" && pwd)
[ -e "$dir/.complete" ] && exit 0
say "unpacking arm64 libraries into $1"
state=$dir/.apt
mkdir -p "$state"/{lists/partial,cache/archives/partial,debs}
: >"$state/status"
apt=(apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures::=arm64
    -o Dir::State="$state" -o Dir::State::Lists="$state/lists" -o Dir::State::status="$state/status"
    -o Dir::Cache="$state/cache" -o APT::Sandbox::User="$(id -un)"
    -o Acquire::Languages=none -o APT::Get::List-Cleanup=false)
# Only Debian's own archive: other sources of this machine may have no arm64 half.
sources=$state/sources.list.d
mkdir -p "$sources"
for file in /etc/apt/sources.list.d/*.sources /etc/apt/sources.list.d/*.list /etc/apt/sources.list; do
    [ -e "$file" ] || continue
    if grep -qE '^Suites:(.* )?bookworm( |$)|^deb [^#]* bookworm(-security)? ' "$file"; then
        cp "$file" "$sources/$(basename "$(dirname "$file")")-${file##*/}"
    fi
done
ls "$sources"/* >/dev/null 2>&1 || die "no source of bookworm packages in /etc/apt"
apt+=(-o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$sources")
"${apt[@]}" update
(cd "$state/debs" && "${apt[@]}" download "${packages[@]}")
for deb in "$state"/debs/*.deb; do
    dpkg-deb -x "$deb" "$dir"
done
rm -rf "$state"
touch "$dir/.complete"
