#!/usr/bin/env bash
# Runs the steps of packaging/Dockerfile without an engine for containers: see usage.
set -euo pipefail
# shellcheck source=tools/lib.sh
. "$(dirname "$0")/lib.sh"

usage() {
    cat <<'EOF'
usage: tools/image_steps.sh --print
       tools/image_steps.sh [--stage N] ROOT

Carries out packaging/Dockerfile in clean roots: for each of its stages a copy of ROOT (a Debian 12
tree, as `debootstrap --variant=minbase bookworm ROOT` makes) in a directory of its own, COPY by cp,
RUN by chroot. Then `cuzkd --check-config` is run in the last one. Needs root and some minutes.

  --print     the steps, one a line
  --stage N   from stage N (from 0) on; what earlier ones copy out is taken from build/image-out
EOF
}

# "STAGE VERB REST" a line: continuations joined, comments left out.
steps() {
    sed -e '/^#/d' -e '/^$/d' "$root_dir/packaging/Dockerfile" |
        sed -e ':a' -e '/\\$/{N;s/ *\\\n */ /;ba}' |
        awk '$1 == "FROM" { n++ } { print n - 1, $0 }'
}

first=0
case ${1-} in
-h | --help | '')
    usage
    [ -n "${1-}" ] || exit 2
    exit 0
    ;;
--print)
    steps
    exit 0
    ;;
--stage)
    first=${2:?}
    shift 2
    ;;
esac
clean=$(cd "${1:?}" && pwd)
[ "$(id -u)" -eq 0 ] || die "needs root"
out=$root_dir/build/image-out
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$out"

# in_root ROOT DIRECTORY COMMAND: with /proc and the network's settings of this machine.
in_root() {
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount --pid --fork bash -c '
        mount -t proc proc "$0/proc" 2>/dev/null || true
        mount --bind /dev "$0/dev"
        cp -L /etc/resolv.conf "$0/etc/resolv.conf" 2>/dev/null || true
        exec chroot "$0" sh -c "cd $1 && $2"' "$@"
}

copy() { # STAGE'S-ROOT DIRECTORY WORDS...
    local root=$1 dir=$2
    shift 2
    if [[ $1 == --from=* ]]; then
        mkdir -p "$root$3"
        cp -a "$out/." "$root$3"
    else
        mkdir -p "$root$dir"
        git -C "$root_dir" ls-files -z | tar -C "$root_dir" --null -T - -cf - | tar -C "$root$dir" -xf -
    fi
}

dir=/
while read -r stage verb rest; do
    [ "$stage" -ge "$first" ] || continue
    root=$work/$stage
    case $verb in
    FROM)
        say "stage $stage"
        cp -a "$clean" "$root"
        dir=/
        ;;
    WORKDIR) dir=$rest ;;
    COPY)
        read -ra words <<<"$rest"
        copy "$root" "$dir" "${words[@]}"
        ;;
    RUN)
        say "$rest"
        in_root "$root" "$dir" "$rest" </dev/null
        [ -d "$root/out" ] && cp -a "$root/out/." "$out"
        ;;
    *) ;; # how it is run
    esac
done < <(steps)
in_root "$root" / 'cuzkd --check-config && cuzkd --version && cuzk --version' </dev/null
