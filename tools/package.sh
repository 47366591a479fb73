#!/usr/bin/env bash
# Makes the Debian package: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'EOF'
usage: tools/package.sh [--build DIR] [--out DIR]

Makes cuzk_VERSION_ARCH.deb of a finished build: its programs, the systemd unit, the
annotated configuration and the documentation. Prints its path. Needs dpkg-dev.

  --build DIR   the build to take programs from; default build/release
  --out DIR     where the package goes; default DIR of the build
EOF
}

build=$root_dir/build/release
out=
while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        usage
        exit 0
        ;;
    --build | --out)
        [ $# -ge 2 ] || { usage >&2; exit 2; }
        if [ "$1" = --build ]; then build=$2; else out=$2; fi
        shift
        ;;
    *)
        usage >&2
        exit 2
        ;;
    esac
    shift
done
command -v dpkg-shlibdeps >/dev/null || die "dpkg-shlibdeps is missing: install dpkg-dev"
[ -x "$build/bin/cuzkd" ] || die "$build/bin/cuzkd is missing: build first"
mkdir -p "${out:=$build}"
out=$(cd "$out" && pwd)

version=$("$build/bin/cuzkd" --version | awk '{print $2}')
arch=$(dpkg --print-architecture)
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
chmod 755 "$stage"
root=$stage/debian/cuzk

install -d "$root/DEBIAN" "$root/usr/share/doc/cuzk"
for program in cuzk cuzk-full cuzkd cuzk-worker; do
    [ -x "$build/bin/$program" ] || die "$build/bin/$program is missing: build first"
    install -D -m 755 "$build/bin/$program" "$root/usr/bin/$program"
    strip --strip-unneeded "$root/usr/bin/$program"
done
cd "$root_dir"
install -D -m 644 packaging/cuzkd.service "$root/lib/systemd/system/cuzkd.service"
install -D -m 644 packaging/cuzk.sysusers "$root/usr/lib/sysusers.d/cuzk.conf"
install -D -m 644 packaging/cuzkd.toml "$root/etc/cuzk/cuzkd.toml"
install -m 644 README.md docs/*.md "$root/usr/share/doc/cuzk"
install -m 644 LICENSE "$root/usr/share/doc/cuzk/copyright"
install -m 755 packaging/postinst packaging/prerm "$root/DEBIAN"
echo /etc/cuzk/cuzkd.toml >"$root/DEBIAN/conffiles"

# dpkg-shlibdeps wants a source package around it.
printf 'Source: cuzk\n\nPackage: cuzk\nArchitecture: any\n' >"$stage/debian/control"
depends=$(cd "$stage" && dpkg-shlibdeps -O debian/cuzk/usr/bin/* 2>/dev/null |
    sed -n 's/^shlibs:Depends=//p')
[ -n "$depends" ] || die "dpkg-shlibdeps found no libraries"
cat >"$root/DEBIAN/control" <<EOF
Package: cuzk
Version: $version
Architecture: $arch
Maintainer: cuzk developers <cuzk@localhost>
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $depends
Section: utils
Priority: optional
Description: Groth16 prover for Filecoin sectors and circom circuits
 cuzkd keeps proving keys loaded, takes jobs from many clients over gRPC and
 HTTP, and answers with verified proofs; accepted jobs survive crashes and
 restarts. cuzk proves and verifies by itself, and is the daemon's client.
EOF
dpkg-deb --root-owner-group --build "$root" "$out/cuzk_${version}_$arch.deb" >/dev/null
echo "$out/cuzk_${version}_$arch.deb"
