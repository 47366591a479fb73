#!/bin/sh
# symbols.sh NM ARCHIVE LIST: the archive defines exactly the global names of LIST.
set -eu
found=$(mktemp)
trap 'rm -f "$found"' EXIT
"$1" -g --defined-only "$2" | awk 'NF == 3 { print $3 }' | sort >"$found"
[ -s "$found" ]
diff "$3" "$found"
