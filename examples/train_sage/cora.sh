#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains on the Cora citation network (Planetoid's split: 140 training nodes) on two servers, once
# per seed, and prints the accuracy. Fails below 0.76.
#
#   examples/train_sage/cora.sh DIR [SEED...]
#
# DIR contains the graph in OGB's raw layout. The script needs the programs in build/release/bin, or
# in BIN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
data=$(realpath -e -- "${1:?usage: cora.sh DIR [SEED...]}")
shift
[ $# -gt 0 ] || set -- 0 1 2 3 4
bin=$(realpath -e -- "${BIN:-build/release/bin}")

work=$(mktemp -d /tmp/graphd-cora.XXXXXX)
export GRAPHD_RUNTIME_DIR=$work/run
cluster=(--server_name cora --ip_config "$work/ip_config.txt")
clean_up() {
  "$bin/graphctl" server stop "${cluster[@]}" --force >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT

"$bin/graphctl" partition --graph_name cora --input "$data" --num_parts 2 --output "$work/parts" \
  >"$work/partition.log" 2>&1 || { cat "$work/partition.log" >&2; exit 1; }
printf '127.0.0.1 %d\n' 30170 30171 >"$work/ip_config.txt"

status=0
for seed in "$@"; do
  "$bin/graphctl" launch "${cluster[@]}" --keep_alive --workspace "$work" --num_trainers 1 \
    --num_omp_threads 1 --part_config parts/cora.json \
    "'$bin/train_sage' --graph_name cora --row_normalize --num_epochs 60 --batch_size 35 \
     --fan_out 10,10 --eval_fan_out=-1,-1 --num_hidden 64 --lr 0.01 --weight_decay 0.0005 \
     --dropout 0.6 --eval_every 2 --log_every 0 --seed $seed" >"$work/job.log" 2>&1 ||
    { tail -n 30 "$work/job.log" >&2; exit 1; }
  accuracy=$(grep -oE 'test accuracy: [0-9.]+' "$work/job.log" | cut -d' ' -f3)
  attach=$(grep -oE 'attach: [0-9.]+ ms' "$work/job.log")
  echo "seed $seed: test accuracy $accuracy, $attach"
  awk -v accuracy="$accuracy" 'BEGIN { exit !(accuracy >= 0.76) }' || status=1
done
[ $status -eq 0 ] || echo "below 0.76" >&2
exit $status
