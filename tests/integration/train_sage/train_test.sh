#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs train_sage on a small planted graph: it learns in standalone mode and with two servers,
# prints the same numbers for every way of reading the graph, and weights trainers with unequal
# shares correctly.
set -euo pipefail
bin=${GRAPHD_BIN_DIR:?is set by ctest}
tools=$(cd "$(dirname "$0")/../../tools" && pwd)
work=$(mktemp -d /tmp/graphd-train.XXXXXX)
servers=() failures=0
clean_up() {
  [ ${#servers[@]} -eq 0 ] || kill "${servers[@]}" 2>/dev/null || true
  wait
  rm -rf "$work"
}
trap clean_up EXIT
cd "$work"
export OMP_NUM_THREADS=1
ok() { echo "ok    $*"; }
bad() { echo "FAIL  $*"; failures=$((failures + 1)); }

/usr/bin/python3 "$tools/small_graph.py" --nodes 1000 --classes 4 raw
"$bin/graphctl" partition --graph_name small --input raw --num_parts 2 --output parts >partition.log 2>&1 ||
  { cat partition.log; exit 1; }
read -ra ports < <("$tools/free_ports.py" 3)
printf '127.0.0.1 %d\n' "${ports[@]:0:2}" >ip_config.txt
for part in 0 1; do
  "$bin/graphd" --server_name train_test --part_config parts/small.json --part_id $part \
    --listen "127.0.0.1:${ports[$part]}" --runtime_dir "$work/run" --state_dir "$work/state" \
    >graphd-$part.log 2>&1 &
  servers+=($!)
done
for part in 0 1; do
  for _ in $(seq 400); do grep -q serving graphd-$part.log && break; sleep 0.05; done
  grep -q serving graphd-$part.log || { echo "graphd $part is not ready"; cat graphd-$part.log; exit 1; }
done

train=("$bin/train_sage" --graph_name small --fan_out "5,5" --num_hidden 32 --lr 0.02
  --eval_every 2 --log_every 0 --dropout 0.2 --seed 3)
accuracy() { sed -n 's/^test accuracy: \(0\.[0-9]\{4\}\|1\.0000\)$/\1/p' "$1"; }
learnt() { /usr/bin/python3 -c "import sys; sys.exit(not float('${1:-0}') > 0.8)"; }
numbers() { grep -oE 'loss [0-9.]+, train accuracy [0-9.]+|validation accuracy [0-9.]+|^test accuracy.*' "$1"; }

"${train[@]}" --num_epochs 12 --part_config parts/small.json --batch_size 100 >standalone.log || bad "standalone mode"
if learnt "$(accuracy standalone.log)"; then
  ok "standalone: test accuracy $(accuracy standalone.log)"
else
  bad "standalone learns nothing"; cat standalone.log
fi
grep -qE '^attach: [0-9]+\.[0-9] ms$' standalone.log || bad "no attach time"

# job NAME WORLD ARGUMENTS...: runs $epochs epochs; trainer i belongs to partition i % 2.
epochs=12
job() {
  local name=$1 world=$2 rank pids=()
  shift 2
  for ((rank = 0; rank < world; rank++)); do
    RANK=$rank WORLD_SIZE=$world LOCAL_RANK=$((rank / 2)) \
      LOCAL_WORLD_SIZE=$(((world + 1 - rank % 2) / 2)) MASTER_ADDR=127.0.0.1 \
      MASTER_PORT=${ports[2]} GRAPHD_SERVER_NAME=train_test GRAPHD_IP_CONFIG=ip_config.txt \
      GRAPHD_JOB_ID=$name GRAPHD_PART_ID=$((rank % 2)) GRAPHD_RUNTIME_DIR=$work/run \
      timeout 60 "${train[@]}" --num_epochs "$epochs" "$@" >"$name.$rank.log" 2>&1 &
    pids+=($!)
  done
  for rank in "${!pids[@]}"; do
    wait "${pids[$rank]}" || { bad "$name: trainer $rank: exit code $?"; cat "$name.$rank.log"; }
  done
}

for transport in auto unix tcp; do
  GRAPHD_TRANSPORT=$transport job "$transport" 1 --batch_size 100
  if diff <(numbers standalone.log) <(numbers "$transport.0.log"); then
    ok "transport $transport: the numbers of standalone mode"
  else
    bad "transport $transport: the numbers differ from standalone mode"
  fi
done
GRAPHD_NUM_SAMPLERS=2 job samplers 1 --batch_size 100
if diff <(numbers standalone.log) <(numbers samplers.0.log); then
  ok "with two sampler threads: the same numbers"
else
  bad "two sampler threads change the numbers"
fi

# 500 training nodes over 3 trainers are 167, 167 and 166, so that with batches of 83 one trainer
# has two batches and the others three.
job three 3 --batch_size 83
if learnt "$(accuracy three.0.log)"; then
  ok "three trainers: test accuracy $(accuracy three.0.log)"
else
  bad "three trainers learn nothing"; cat three.0.log
fi
job again 3 --batch_size 83
if diff <(numbers three.0.log) <(numbers again.0.log); then
  ok "the same seed gives the same numbers"
else
  bad "the same seed gives different numbers"
fi

# Two trainers end after 8 epochs, and two more resume from their checkpoint: the numbers of the
# last 4 epochs equal those of trainers that were not interrupted.
job whole 2 --batch_size 100
epochs=8 job begun 2 --batch_size 100 --checkpoint early --checkpoint_every 4
job resumed 2 --batch_size 100 --checkpoint early --resume
grep -q '^resuming from checkpoint early-8$' resumed.0.log || bad "no checkpoint to resume from"
last() { grep -oE '^epoch (9|1[0-2]):.*' "$1" | numbers /dev/stdin; }
if [ "$(last resumed.0.log | wc -l)" -ge 4 ] && diff <(last whole.0.log) <(last resumed.0.log); then
  ok "resumed from a checkpoint: the numbers of an uninterrupted run"
else
  bad "resumed from a checkpoint: different numbers"; cat begun.0.log resumed.0.log
fi
exit $((failures > 0))
