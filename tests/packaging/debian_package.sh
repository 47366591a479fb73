#!/usr/bin/env bash
# debian_package.sh BUILD: the package holds what it should, and its programs run from it.
set -euo pipefail
command -v dpkg-shlibdeps >/dev/null || { echo 'skipped: no dpkg-dev'; exit 77; }
root=$(cd "$(dirname "$0")/../.." && pwd)
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
deb=$("$root/tools/package.sh" --build "$1" --out "$dir")
contents=$(dpkg-deb --contents "$deb")
for path in ./usr/bin/cuzk ./usr/bin/cuzk-full ./usr/bin/cuzkd ./usr/bin/cuzk-worker ./etc/cuzk/cuzkd.toml \
    ./lib/systemd/system/cuzkd.service ./usr/lib/sysusers.d/cuzk.conf \
    ./usr/share/doc/cuzk/configuration.md ./usr/share/doc/cuzk/copyright; do
    grep -q " $path\$" <<<"$contents" || { echo "$path is missing"; exit 1; }
done
grep -vq ' root/root ' <<<"$contents" && { echo 'a file is not of root'; exit 1; }
depends=$(dpkg-deb --field "$deb" Depends)
for library in libc6 libnghttp2-14 libmicrohttpd12 libsqlite3-0 libprotobuf-c1 libssl3; do
    grep -q "\b$library\b" <<<"$depends" || { echo "no dependency on $library: $depends"; exit 1; }
done
[ "$(dpkg-deb --info "$deb" conffiles)" = /etc/cuzk/cuzkd.toml ]
dpkg-deb --extract "$deb" "$dir/root"
"$dir/root/usr/bin/cuzkd" --config "$dir/root/etc/cuzk/cuzkd.toml" --check-config
"$dir/root/usr/bin/cuzk" --version
"$dir/root/usr/bin/cuzk" circuit --help >/dev/null # in cuzk-full
"$dir/root/usr/bin/cuzk-worker" --version
