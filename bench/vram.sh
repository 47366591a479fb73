#!/usr/bin/env bash
# Is device memory constant while proofs are made? 1,000 proofs of winning-32g and 20 of porep-32g,
# keys made on the device, memory by the driver's count after each proof.
# usage: bench/vram.sh CUZK DIR    writes DIR/vram_CIRCUIT.json; exit code 1 when a byte moved
set -euo pipefail
[ $# = 2 ] || { sed -n 2,4p "$0" >&2; exit 2; }
cuzk=$1 dir=$2
mkdir -p "$dir"
check='
import json, sys
rows = json.load(open(sys.argv[1]))["results"]
used = rows[0]["device_bytes_used"]
assert used["proofs"] >= int(sys.argv[2]), used
print(sys.argv[1], used)
sys.exit(used["least"] != used["most"])'
for what in winning-32g:1000 porep-32g:20; do
    circuit=${what%:*} runs=${what#*:}
    "$cuzk" sector "$circuit" --seed 00 "$dir/$circuit.in"
    "$cuzk" bench partition --device cuda --insecure-seed 00 --runs "$runs" "$dir/$circuit.in" \
        >"$dir/vram_$circuit.json"
    rm "$dir/$circuit.in"
    python3 -c "$check" "$dir/vram_$circuit.json" "$runs"
done
