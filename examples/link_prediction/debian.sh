#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trains a model of which of Debian's packages depend on which, on two servers with a trainer beside
# each, once per seed. Prints how well the model distinguishes held-out edges from other pairs,
# compared with a predictor that uses popularity alone. Fails unless the model is much better.
#
#   examples/link_prediction/debian.sh [--from PACKAGES] [--parts N] [SEED...] [-- OPTION...]
#
# --from takes a Packages file instead of apt's package lists; options after -- are passed to
# link_prediction. UNIFORM_AUC, POPULAR_MRR and POPULAR_AUC set other minimum values. The script
# needs the programs in build/release/bin, or in BIN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
from=() seeds=() more=() parts=2
while [ $# -gt 0 ]; do
  case $1 in
    --from) from=(--from "$(realpath -e -- "${2:?--from needs a file}")"); shift 2 ;;
    --parts) parts=${2:?--parts needs a number}; shift 2 ;;
    --) shift; more=("$@"); break ;;
    -*) echo "debian.sh: unknown option '$1'" >&2; exit 2 ;;
    *) seeds+=("$1"); shift ;;
  esac
done
[ ${#seeds[@]} -gt 0 ] || seeds=(0 1 2)
bin=$(realpath -e -- "${BIN:-build/release/bin}")

work=$(mktemp -d -t graphd-links.XXXXXX)
export GRAPHD_RUNTIME_DIR=$work/run
cluster=(--server_name debian_links --ip_config "$work/ip_config.txt")
clean_up() {
  "$bin/graphctl" server stop "${cluster[@]}" --force >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap clean_up EXIT

scripts/debian_graph.py --hetero "${from[@]}" --output "$work/raw"
"$bin/graphctl" partition --graph_name debian_links --input "$work/raw" --num_parts "$parts" \
  --output "$work/parts" >"$work/partition.log" 2>&1 || { cat "$work/partition.log" >&2; exit 1; }
# Chooses free ports below the range from which the system gives ports to clients.
/usr/bin/python3 -c '
import socket, sys
left = int(sys.argv[1])
for port in range(30600, 32700):
    if left == 0:
        break
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            continue
    print("127.0.0.1", port)
    left -= 1' "$parts" >"$work/ip_config.txt"

# at_least FLOOR KIND METRIC: fails if the model's METRIC on the test edges is below FLOOR.
at_least() {
  local value
  value=$(sed -nE "s/.*test, $2 negatives:.* $3 ([0-9.]+).*; by degree.*/\1/p" "$work/job.log")
  awk -v value="$value" -v floor="$1" 'BEGIN { exit !(value != "" && value >= floor) }' && return
  echo "$3 with $2 negatives is '$value', below $1" >&2
  status=1
}

status=0
for seed in "${seeds[@]}"; do
  "$bin/graphctl" launch "${cluster[@]}" --keep_alive --workspace "$work" --num_trainers 1 \
    --num_omp_threads 1 --part_config parts/debian_links.json \
    "'$bin/link_prediction' --graph_name debian_links --num_epochs 4 --batch_size 500 \
     --fan_out 2,4 --eval_fan_out 3,5 --fan_out_of rev_maintained_by=1,1 \
     --fan_out_of maintained_by=2,0 --num_hidden 64 --lr 0.01 --dropout 0 --num_negs 5 \
     --num_popular_negs 10 --eval_every 2 --log_every 0 --seed $seed \
     ${more[*]}" \
    >"$work/job.log" 2>&1 || { tail -n 30 "$work/job.log" >&2; exit 1; }
  [ -z "${VERBOSE:-}" ] || cat "$work/job.log"
  grep -oE 'test, .*' "$work/job.log" | sed "s/^/seed $seed: /"
  at_least "${UNIFORM_AUC:-0.94}" uniform AUC
  at_least "${POPULAR_MRR:-0.35}" popular MRR
  at_least "${POPULAR_AUC:-0.85}" popular AUC
done
exit $status
