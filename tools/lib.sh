# Shell functions that the scripts of this project share; source it, don't run it.
# shellcheck shell=bash

root_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

say() { printf '== %s\n' "$*"; }

die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# Runs a command with root's rights: as it is for root, else through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        die "needs root or sudo to run: $*"
    fi
}

# Prints the packages of the named groups that this machine lacks.
missing_packages() {
    local group package unless command
    while read -r group package unless command; do
        [[ " $* " == *" $group "* ]] || continue
        [ "$unless" = unless ] && command -v "$command" >/dev/null && continue
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] ||
            printf '%s\n' "$package"
    done < <(grep -v '^#' "$root_dir/tools/apt-packages.txt")
}

# Installs what is missing of the named groups; asks no registry when nothing is.
install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    say "installing Debian packages: ${missing[*]}"
    as_root apt-get -qq update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o Dpkg::Use-Pty=0 install "${missing[@]}" >/dev/null
}

# npm_install DIRECTORY: exactly what its package-lock.json names, without install scripts. Skips
# when it is done already for this lock file.
npm_install() {
    local dir=$root_dir/$1 sum
    sum=$(sha256sum <"$dir/package-lock.json")
    [ "$(cat "$dir/node_modules/.installed-lock" 2>/dev/null)" = "$sum" ] && return 0
    say "installing npm packages of $1/package-lock.json"
    npm ci --prefix "$dir" --ignore-scripts --no-audit --no-fund --no-update-notifier \
        --loglevel=error
    printf '%s\n' "$sum" >"$dir/node_modules/.installed-lock"
}

# build_preset PRESET [cmake cache settings]: configures and builds into build/PRESET; only the
# targets named in $build_targets when that is set.
build_preset() {
    local preset=$1 dir=$root_dir/build/$1
    shift
    say "building build/$preset"
    mkdir -p "$dir"
    if ! (cd "$root_dir" && cmake --preset "$preset" "$@") >"$dir/configure.log" 2>&1; then
        cat "$dir/configure.log" >&2
        die "configuring $preset failed"
    fi
    # shellcheck disable=SC2086 # words
    if ! cmake --build "$dir" -j "$jobs" ${build_targets:+--target $build_targets} >"$dir/build.log" 2>&1; then
        tail -n 60 "$dir/build.log" >&2
        die "building $preset failed"
    fi
}
