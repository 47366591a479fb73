#!/bin/sh
# few_libraries.sh READELF PROGRAM NAME...: of the shared libraries that PROGRAM needs, none begins with
# one of the names. What it loads, each proof waits for.
set -eu
needed=$("$1" -d "$2" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[ -n "$needed" ]
shift 2
for name in "$@"; do
    if echo "$needed" | grep -q "^$name"; then
        echo "the program needs $name: a verb of app/cuzk/verbs.h is on the wrong list"
        exit 1
    fi
done
