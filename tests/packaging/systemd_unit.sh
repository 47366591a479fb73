#!/bin/sh
# systemd_unit.sh CUZKD UNIT: systemd finds nothing wrong with the unit.
set -eu
command -v systemd-analyze >/dev/null || { echo 'skipped: no systemd-analyze'; exit 77; }
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
sed "s|^ExecStart=/usr/bin/cuzkd|ExecStart=$1|" "$2" >"$dir/cuzkd.service"
systemd-analyze verify --man=no "$dir/cuzkd.service" >"$dir/out" 2>&1 || { cat "$dir/out"; exit 1; }
# Warnings about this unit fail as well; those about others of the machine do not.
if grep cuzkd "$dir/out"; then exit 1; fi
