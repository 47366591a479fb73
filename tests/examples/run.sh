#!/usr/bin/env bash
# Builds one example against an installed copy and proves with it: run.sh KIND BUILD_DIR. Exits with
# 77 where the language's toolchain is missing.
set -euo pipefail

kind=$1
build=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
stage=$build/stage
work=$build/examples/$kind
key=$root/tests/vectors/circom/bn128/poseidon2
libdir=$stage/$(sed -n 's/^CMAKE_INSTALL_LIBDIR:[A-Z]*=//p' "$build/CMakeCache.txt")
export PKG_CONFIG_PATH=$libdir/pkgconfig LD_LIBRARY_PATH=$libdir

have() {
    command -v "$1" >/dev/null || {
        echo "skipped: no $1"
        exit 77
    }
}

# Runs a program with a key and a witness, and checks what it printed with our verifier.
prove_with() {
    "$@" "$key/circuit_final.zkey" "$key/witness.wtns" >"$work/out.txt"
    [ "$(wc -l <"$work/out.txt")" -ge 2 ]
    sed -n 1p "$work/out.txt" >"$work/proof.json"
    sed -n 2p "$work/out.txt" >"$work/public.json"
    "$stage/bin/cuzk" verify "$key/verification_key.json" "$work/public.json" "$work/proof.json"
    if "$@" "$key/witness.wtns" "$key/witness.wtns" >"$work/out.txt" 2>"$work/err.txt"; then
        echo "a witness was taken for a key" >&2
        exit 1
    fi
    [ -s "$work/err.txt" ]
}

rm -rf "$work"
mkdir -p "$work"
case $kind in
install)
    rm -rf "$stage"
    cmake --install "$build" --prefix "$stage" >"$work/install.log"
    "$stage/bin/cuzk" --version
    # Headers stand alone in C11 and C++, each by itself.
    for header in "$stage"/include/{cuzk,rapidsnark}/*.h; do
        gcc -std=c11 -pedantic -Wall -Wextra -Werror -I"$stage/include" -fsyntax-only "$header"
        g++ -x c++ -std=c++11 -pedantic -Wall -Werror -I"$stage/include" -fsyntax-only "$header"
    done
    # A shared library exports what its headers declare, and no more.
    for pair in cuzk:cuzk rapidsnark:groth16; do
        lib=${pair%:*}
        prefix=${pair#*:}
        grep -hoE "\b${prefix}_[a-z0-9_]+\(" "$stage/include/$lib"/*.h | tr -d '(' |
            sort -u >"$work/declared"
        nm -D --defined-only "$libdir/lib$lib.so" | awk '{print $3}' | grep -v '^_' |
            sort -u >"$work/exported"
        # Comments may name functions of this library only, so the two lists are equal.
        diff "$work/declared" "$work/exported"
    done
    ;;
c)
    read -ra flags <<<"$(pkg-config --cflags --libs libcuzk)"
    gcc -std=c11 -Wall -Wextra -Werror "$root/examples/c/prove.c" "${flags[@]}" -o "$work/prove"
    prove_with "$work/prove"
    ;;
c_static)
    read -ra flags <<<"$(pkg-config --static --cflags --libs libcuzk)"
    gcc -std=c11 -static "$root/examples/c/prove.c" "${flags[@]}" -o "$work/prove"
    LD_LIBRARY_PATH='' prove_with "$work/prove"
    ;;
c_rapidsnark)
    source=$root/examples/c/rapidsnark.c
    gcc -Wall -Wextra -Werror "$source" -I"$stage/include" -L"$libdir" -lrapidsnark -o "$work/shared"
    prove_with "$work/shared"
    # What wrappers of rapidsnark's static library pass, less the libraries nobody needs here.
    gcc "$source" -I"$stage/include" "$libdir/librapidsnark.a" "$libdir/libfr.a" "$libdir/libfq.a" \
        -lpthread -o "$work/static"
    prove_with "$work/static"
    ;;
cmake)
    # Ninja is what the project installs; cmake's own choice, make, may not be there.
    if ! { cmake -G Ninja -S "$root/examples/c" -B "$work/build" -DCMAKE_PREFIX_PATH="$stage" &&
        cmake --build "$work/build"; } >"$work/log" 2>&1; then
        cat "$work/log"
        exit 1
    fi
    prove_with "$work/build/prove"
    prove_with "$work/build/prove_static"
    ;;
node)
    have node
    modules=$root/tests/interop/node_modules
    [ -d "$modules/koffi" ] || {
        echo "skipped: run tools/install_deps.sh test"
        exit 77
    }
    cp "$root/examples/node/prove.mjs" "$work"
    ln -s "$modules" "$work/node_modules"
    prove_with node "$work/prove.mjs"
    ;;
go)
    have go
    (cd "$root/examples/go" && GOFLAGS=-mod=mod GOCACHE=$work/cache go build -o "$work/prove" .)
    prove_with "$work/prove"
    ;;
rust)
    have rustc
    rustc --edition 2021 "$root/examples/rust/prove.rs" -L "$libdir" -l cuzk -o "$work/prove"
    prove_with "$work/prove"
    ;;
*)
    echo "unknown kind: $kind" >&2
    exit 2
    ;;
esac
