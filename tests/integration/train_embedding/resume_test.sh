#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs train_embedding on a small planted graph: it learns; and when its servers, and then the job
# itself, are killed with kill -9 in the middle of an epoch, it resumes from the last checkpoint and
# ends with the numbers of an uninterrupted run. If servers are restarted in time, no epoch
# is lost.
set -euo pipefail
bin=${GRAPHD_BIN_DIR:?is set by ctest}
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
work=$(mktemp -d /tmp/graphd-resume.XXXXXX)
# The directory in which killed servers leave their tensors' memory.
GRAPHD_MEMORY_DIR=$(mktemp -d /dev/shm/graphd-test.XXXXXX)
export GRAPHD_MEMORY_DIR
servers=(0 0) trainers=() failures=0
clean_up() {
  for pid in "${servers[@]}" "${trainers[@]}"; do
    [ "$pid" = 0 ] || kill -9 "$pid" 2>/dev/null || true
  done
  wait
  rm -rf "$work" "$GRAPHD_MEMORY_DIR"
}
trap clean_up EXIT
cd "$work"
export OMP_NUM_THREADS=1
ok() { echo "ok    $*"; }
bad() { echo "FAIL  $*"; failures=$((failures + 1)); }

/usr/bin/python3 "$tools/small_graph.py" --nodes 1000 --classes 4 raw
"$bin/graphctl" partition --graph_name small --input raw --num_parts 2 --output parts \
  >partition.log 2>&1 || { cat partition.log; exit 1; }
read -ra ports < <("$tools/free_ports.py" 3)
printf '127.0.0.1 %d\n' "${ports[@]:0:2}" >ip_config.txt

# start PART: starts a server with its tensors in $state.
start() {
  "$bin/graphd" --server_name resume --part_config parts/small.json --part_id "$1" \
    --listen "127.0.0.1:${ports[$1]}" --runtime_dir "$work/run" --state_dir "$work/$state" \
    >>"graphd-$1.log" 2>&1 &
  servers[$1]=$!
}
ready() {
  for _ in $(seq 200); do
    "$bin/graphctl" server status --server_name resume --ip_config ip_config.txt \
      --runtime_dir "$work/run" >status.log 2>&1 && return
    sleep 0.1
  done
  echo "servers are not ready"; cat status.log graphd-*.log; exit 1
}
kill_servers() {
  kill -9 "${servers[@]}"
  wait "${servers[@]}" 2>/dev/null || true
}

# train NAME [ARGUMENTS...]: starts two trainers in the background; their pids are in $trainers.
train() {
  local name=$1 rank
  shift
  trainers=()
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=1 MASTER_ADDR=127.0.0.1 \
      MASTER_PORT=${ports[2]} GRAPHD_SERVER_NAME=resume GRAPHD_IP_CONFIG=ip_config.txt \
      GRAPHD_JOB_ID=$name-$$ GRAPHD_PART_ID=$rank GRAPHD_RUNTIME_DIR=$work/run \
      "$bin/train_embedding" --graph_name small --num_epochs 10 --batch_size 50 --fan_out 5,5 \
      --num_hidden 32 --embedding_dim 16 --lr 0.02 --sparse_lr 0.1 --eval_every 2 --log_every 1 \
      --dropout 0.2 --seed 3 --checkpoint_every 2 --checkpoint model "$@" >"$name.$rank.log" 2>&1 &
    trainers+=($!)
  done
}
finish() {
  local rank
  for rank in 0 1; do
    wait "${trainers[$rank]}" || { bad "$1: trainer $rank: exit code $?"; cat "$1.$rank.log"; }
  done
  trainers=()
}
# at NAME TEXT: waits until the first trainer has printed TEXT.
at() {
  for _ in $(seq 600); do
    grep -q "$2" "$1.0.log" && return
    sleep 0.02
  done
  echo "$1 never printed '$2'"; cat "$1.0.log"; exit 1
}
accuracy() { sed -n 's/^test accuracy: \(0\.[0-9]\{4\}\|1\.0000\)$/\1/p' "$1.0.log"; }
# Prints losses and accuracies from epoch $2 on.
numbers() {
  grep -oE '^epoch [0-9]+: (loss [0-9.]+, train accuracy [0-9.]+|validation accuracy [0-9.]+)|^test accuracy.*' \
    "$1.0.log" | awk -v first="$2" '$1 == "test" || $2 + 0 >= first'
}

state=whole
start 0; start 1; ready
train whole
finish whole
if /usr/bin/python3 -c "import sys; sys.exit(not float('$(accuracy whole)') > 0.6)"; then
  ok "learns: test accuracy $(accuracy whole)"
else
  bad "learns nothing"; cat whole.0.log
fi
kill_servers

# Kill servers and trainers in the sixth epoch, after the checkpoint of the fourth one.
state=torn
start 0; start 1; ready
train torn
at torn '^epoch 5, step 3 '
kill_servers
kill -9 "${trainers[@]}" 2>/dev/null || true
wait "${trainers[@]}" 2>/dev/null || true
start 0; start 1; ready
train resumed --resume
finish resumed
grep -q '^resuming from checkpoint model-4$' resumed.0.log || { bad "resumes from:"; cat resumed.0.log; }
if diff <(numbers whole 4) <(numbers resumed 4); then
  ok "killed and resumed: the numbers of the uninterrupted run, test accuracy $(accuracy resumed)"
else
  bad "killed and resumed: the numbers differ from the uninterrupted run"
fi
kill_servers

# Kill and restart the servers; the trainers continue.
state=back
start 0; start 1; ready
train back
at back '^epoch 3, step 2 '
kill_servers
start 0; start 1
finish back
if diff <(numbers whole 0) <(numbers back 0); then
  ok "servers killed and restarted: the same numbers"
else
  bad "servers killed and restarted: different numbers"
fi
exit $((failures > 0))
