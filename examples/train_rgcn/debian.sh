#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains an R-GCN on Debian's packages, maintainers and sources, on three servers with a trainer
# beside each, once per seed, and prints the accuracy of the predicted sections of packages. Fails
# below FLOOR (default 0.80; on packages and dependencies alone, train_sage reaches 0.74).
#
#   examples/train_rgcn/debian.sh [--epochs N] [SEED...]
#
# The script needs apt's package lists and the programs in build/release/bin, or in BIN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
epochs=10
while [ $# -gt 0 ]; do
  case $1 in
    --epochs) epochs=${2:?--epochs needs a number}; shift 2 ;;
    -*) echo "debian.sh: unknown option '$1'" >&2; exit 2 ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || set -- 0 1 2
bin=$(realpath -e -- "${BIN:-build/release/bin}")
floor=${FLOOR:-0.80}

work=$(mktemp -d -t graphd-rgcn.XXXXXX)
export GRAPHD_RUNTIME_DIR=$work/run
cluster=(--server_name debian_hetero --ip_config "$work/ip_config.txt")
clean_up() {
  "$bin/graphctl" server stop "${cluster[@]}" --force >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT

scripts/debian_graph.py --hetero --output "$work/raw"
"$bin/graphctl" partition --graph_name debian_hetero --input "$work/raw" --num_parts 3 \
  --output "$work/parts" >"$work/partition.log" 2>&1 || { cat "$work/partition.log" >&2; exit 1; }
# Chooses three free ports below the range from which the system gives ports to clients.
/usr/bin/python3 -c '
import socket
found = 0
for port in range(30200, 32700):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print("127.0.0.1", port)
    found += 1
    if found == 3:
        break' >"$work/ip_config.txt"

status=0
for seed in "$@"; do
  "$bin/graphctl" launch "${cluster[@]}" --keep_alive --workspace "$work" --num_trainers 1 \
    --num_omp_threads 1 --part_config parts/debian_hetero.json \
    "'$bin/train_rgcn' --graph_name debian_hetero --num_epochs $epochs --batch_size 500 \
     --fan_out 5,10 --fan_out_of rev_maintained_by=1,3 --fan_out_of maintained_by=10,0 \
     --num_hidden 128 --lr 0.01 --dropout 0.3 --eval_every 2 --log_every 0 --seed $seed" \
    >"$work/job.log" 2>&1 || { tail -n 30 "$work/job.log" >&2; exit 1; }
  [ -z "${VERBOSE:-}" ] || cat "$work/job.log"
  accuracy=$(grep -oE 'test accuracy: [0-9.]+' "$work/job.log" | cut -d' ' -f3)
  attach=$(grep -oE 'attach: [0-9.]+ ms' "$work/job.log")
  echo "seed $seed: test accuracy $accuracy, $attach"
  awk -v accuracy="$accuracy" -v floor="$floor" 'BEGIN { exit !(accuracy >= floor) }' || status=1
done
[ $status -eq 0 ] || echo "below $floor" >&2
exit $status
