#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Learns a vector for each of Debian's packages, on two servers with a trainer beside each, and
# prints the accuracy of the predicted sections. Then repeats the job, kills both servers with
# kill -9 in the middle of an epoch and leaves them dead, so that the job fails. The same command
# with --resume starts servers again, continues from the last checkpoint, and must reach the same
# accuracy.
#
#   examples/train_embedding/debian.sh [--epochs N]
#
# The script needs apt's package lists and the programs in build/release/bin, or in BIN.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
epochs=6
while [ $# -gt 0 ]; do
  case $1 in
    --epochs) epochs=${2:?--epochs needs a number}; shift 2 ;;
    *) echo "debian.sh: unknown argument '$1'" >&2; exit 2 ;;
  esac
done
bin=$(realpath -e -- "${BIN:-build/release/bin}")
floor=${FLOOR:-0.60}

work=$(mktemp -d -t graphd-embedding.XXXXXX)
export GRAPHD_RUNTIME_DIR=$work/run
# The directory in which killed servers leave the memory of their tensors.
GRAPHD_MEMORY_DIR=$(mktemp -d /dev/shm/graphd-test.XXXXXX)
export GRAPHD_MEMORY_DIR
cluster=(--server_name debian_embedding --ip_config "$work/ip_config.txt")
clean_up() {
  "$bin/graphctl" server stop "${cluster[@]}" --force >/dev/null 2>&1 || true
  rm -rf "$work" "$GRAPHD_MEMORY_DIR"
}
trap clean_up EXIT

scripts/debian_graph.py --output "$work/raw"
"$bin/graphctl" partition --graph_name debian --input "$work/raw" --add_reverse --num_parts 2 \
  --output "$work/parts" >"$work/partition.log" 2>&1 || { cat "$work/partition.log" >&2; exit 1; }
# Chooses two free ports below the range from which the system gives ports to clients.
/usr/bin/python3 -c '
import socket
found = 0
for port in range(30200, 32700):
    try:
        with socket.socket() as s: s.bind(("127.0.0.1", port))
    except OSError:
        continue
    print("127.0.0.1", port)
    found += 1
    if found == 2: break' >"$work/ip_config.txt"

# train LOG [ARGUMENTS...]: runs the job with these arguments and writes its output to LOG.
train() {
  local log=$1
  shift
  "$bin/graphctl" launch "${cluster[@]}" --workspace "$work" --num_trainers 1 --keep_alive \
    --part_config parts/debian.json --state_dir "$work/$state" --extra_envs GRAPHD_TIMEOUT=5 \
    "'$bin/train_embedding' --graph_name debian --num_epochs $epochs --batch_size 1000 \
     --fan_out 10,25 --num_hidden 128 --lr 0.01 --dropout 0.3 --eval_every 1 --log_every 1 \
     --checkpoint_every 1 --checkpoint packages $*" >"$log" 2>&1
}
accuracy() { sed -n 's/.*test accuracy: \([0-9.]*\)$/\1/p' "$1"; }
show() { grep -oE 'epoch [0-9]+: (loss.*|validation.*)|resuming.*|test accuracy.*' "$1" | sed 's/^/  /'; }
kill_servers() {
  "$bin/graphctl" ps "${cluster[@]}" --json |
    /usr/bin/python3 -c 'import json, sys
for server in json.load(sys.stdin): print(server["status"]["pid"])' | xargs kill -9
}

state=whole
train "$work/whole.log" || { cat "$work/whole.log" >&2; exit 1; }
show "$work/whole.log"
"$bin/graphctl" server stop "${cluster[@]}" --force >/dev/null

state=torn
train "$work/torn.log" &
job=$!
until grep -q 'epoch 3, step 5 ' "$work/torn.log" 2>/dev/null; do
  kill -0 $job 2>/dev/null || { cat "$work/torn.log" >&2; exit 1; }
  sleep 0.02
done
kill_servers
if wait $job; then echo "debian.sh: the job did not notice that its servers died" >&2; exit 1; fi
show "$work/torn.log"
echo "killed both servers with kill -9 in epoch 3"
train "$work/resumed.log" --resume || { cat "$work/resumed.log" >&2; exit 1; }
show "$work/resumed.log"

/usr/bin/python3 - "$(accuracy "$work/whole.log")" "$(accuracy "$work/resumed.log")" "$floor" <<'END'
import sys
whole, resumed, floor = map(float, sys.argv[1:])
print(f"test accuracy: {whole} without a break, {resumed} killed and resumed")
sys.exit(whole < floor or abs(whole - resumed) > 0.005)
END
