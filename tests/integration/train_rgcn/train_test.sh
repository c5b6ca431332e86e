#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs examples/train_rgcn/debian.sh with the programs of this build: three servers, three trainers,
# a few epochs on Debian's packages, maintainers and sources. Always guessing the most frequent
# section classifies 0.10 of the test packages correctly; guessing the most frequent one among the
# training packages of the same source or maintainer 0.56.
set -euo pipefail
bin=${GRAPHD_BIN_DIR:?is set by ctest}
debian=$(cd "$(dirname "$0")/../../../examples/train_rgcn" && pwd)/debian.sh
work=$(mktemp -d /tmp/graphd-rgcn-test.XXXXXX)
server=''
trap '[ -z "$server" ] || kill "$server" 2>/dev/null; rm -rf "$work"' EXIT
failures=0
ok() { echo "ok    $*"; }
bad() { echo "FAIL  $*"; failures=$((failures + 1)); }

if BIN=$bin FLOOR=0.72 VERBOSE=1 TMPDIR=$work "$debian" --epochs 3 7 >"$work/log" 2>&1; then
  ok "$(tail -n 1 "$work/log")"
else
  bad "debian.sh"
fi
grep -qE '10 edge types, 58 classes; .* 3 trainers' "$work/log" || bad "no three trainers on ten edge types"
# Processes that the script started have its folder in their arguments.
left=$(pgrep -af -- "$work/graphd-rgcn" || true)
[ -z "$left" ] || bad "left behind: $left"
[ -z "$(find "$work" -mindepth 1 ! -name log)" ] || bad "files left behind: $(find "$work")"

# An unknown edge type is reported before any training.
status=0
/usr/bin/python3 "$(dirname "$0")/../../tools/small_graph.py" --nodes 100 "$work/raw"
"$bin/graphctl" partition --graph_name small --input "$work/raw" --num_parts 1 \
  --output "$work/parts" >/dev/null 2>&1 || bad "graphctl partition"
"$bin/train_rgcn" --part_config "$work/parts/small.json" --fan_out_of likes=1,2 >"$work/error" 2>&1 ||
  status=$?
if [ $status = 3 ] && grep -q "likes" "$work/error"; then
  ok "$(cat "$work/error")"
else
  bad "exit code $status: $(cat "$work/error")"
fi

# A job that resumes from an earlier job's checkpoint ends with the numbers of an uninterrupted one.
port=$("$(dirname "$0")/../../tools/free_ports.py" 1)
echo "127.0.0.1 $port" >"$work/ip_config.txt"
"$bin/graphd" --server_name rgcn_test --part_config "$work/parts/small.json" --part_id 0 \
  --listen "127.0.0.1:$port" --runtime_dir "$work/run" --state_dir "$work/state" \
  >"$work/graphd.log" 2>&1 &
server=$!
# train NAME EPOCHS ARGUMENTS...: runs the trainers of one job.
train() {
  local name=$1 epochs=$2
  shift 2
  GRAPHD_RUNTIME_DIR=$work/run GRAPHD_SERVER_NAME=rgcn_test GRAPHD_JOB_ID=$name \
    GRAPHD_IP_CONFIG=$work/ip_config.txt timeout 60 "$bin/train_rgcn" --graph_name small \
    --fan_out 5,5 --num_hidden 16 --batch_size 20 --eval_every 1 --log_every 0 --seed 3 \
    --num_epochs "$epochs" "$@" >"$work/$name" 2>&1 || bad "$name: $(cat "$work/$name")"
}
last() { grep -oE '^epoch [34]: .*accuracy [0-9.]+|^test accuracy.*' "$1" | sed 's/, [0-9.]* s\b.*//'; }
train whole 4
train begun 2 --checkpoint_every 1
train resumed 4 --resume
kill "$server"
wait "$server" || bad "graphd: exit code $?"
server=''
if grep -q '^resuming from checkpoint checkpoint-2$' "$work/resumed" &&
  [ "$(last "$work/resumed" | wc -l)" -ge 3 ] &&
  diff <(last "$work/whole") <(last "$work/resumed"); then
  ok "resumed: $(last "$work/resumed" | tail -n 1)"
else
  bad "resumed: $(cat "$work/whole" "$work/resumed" "$work/graphd.log")"
fi
[ $failures -eq 0 ] || cat "$work/log"
exit $((failures > 0))
