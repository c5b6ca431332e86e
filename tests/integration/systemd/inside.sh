#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of service_test.sh that runs in the container, as root.
set -uo pipefail
cd /srv || exit 1
failures=0
ok() { echo "ok    $*"; }
bad() { echo "FAIL  $*"; failures=$((failures + 1)); }
check() { local what=$1; shift; if "$@"; then ok "$what"; else bad "$what"; fi; }
property() { systemctl show --property "$1" --value graphd@debian.service; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }

systemd-sysusers && systemd-tmpfiles --create graphd.conf && systemctl daemon-reload
check "the user graphd exists" id graphd

verify=$(systemd-analyze verify graphd@debian.service 2>&1)
if [ -z "$verify" ]; then ok "systemd-analyze verify is silent"; else bad "verify says: $verify"; fi
check "systemd-analyze security reports an exposure of at most 1.5" \
  systemd-analyze security --no-pager --offline=true --threshold=15 graphd@debian.service >/dev/null

if systemctl start graphd@debian 2>/dev/null; then
  bad "started without a configuration"
else
  ok "does not start without /etc/graphd/debian.conf"
fi

/usr/bin/python3 small_graph.py --nodes 400 --classes 4 raw
graphctl partition --graph_name small --input raw --num_parts 1 --output parts >partition.log 2>&1 ||
  { bad "graphctl partition"; cat partition.log; exit 1; }
chmod -R a+rX parts
printf 'part_config = "/srv/parts/small.json"\npart_id = 0\n' \
  >/etc/graphd/debian.conf
echo "127.0.0.1 30050" >ip_config.txt

begin=$(milliseconds)
if systemctl start graphd@debian; then
  ok "systemctl start returns when ready: $(($(milliseconds) - begin)) ms"
else
  bad "systemctl start"
  systemctl status --no-pager --full graphd@debian
  journalctl --no-pager -u graphd@debian -n 40
  exit 1
fi
main=$(property MainPID)
status=$(property StatusText)
if [ -n "$status" ]; then ok "status: $status"; else bad "no status text"; fi
check "runs as graphd" [ "$(stat -c %U "/proc/$main")" = graphd ]
check "its socket is in /run/graphd/debian" [ -S /run/graphd/debian/30050.sock ]
check "without 'listen' nothing answers over TCP" \
  bash -c '! (exec 3<>/dev/tcp/127.0.0.1/30050) 2>/dev/null'

# job [EPOCHS [LOG]]: trains with two trainers.
job() {
  timeout 120 graphctl launch --server_name debian --workspace /srv --num_trainers 2 \
    --part_config parts/small.json --ip_config ip_config.txt \
    "train_sage --graph_name small --num_epochs ${1:-10} --batch_size 50 --fan_out 5,5 --lr 0.02 --num_hidden 16 --log_every 0 --seed 3" \
    >"${2:-job.log}" 2>&1
}
# Prints the losses and accuracies of a job.
numbers() { grep -oE 'epoch [0-9]+: loss [0-9.]+, train accuracy [0-9.]+|test accuracy.*' "$1"; }
# Waits until a job has ended an epoch.
await_epoch() {
  for _ in $(seq 600); do grep -q "epoch $1:" disturbed.log && return; sleep 0.05; done
  bad "the job does not end epoch $1"
}
for round in first second; do
  if job && grep -q 'test accuracy: 0\.[0-9]' job.log; then
    ok "the $round job: $(grep -oE '(attach|test accuracy): .*' job.log | paste -sd' ')"
  else
    bad "the $round job"
    cat job.log
  fi
done
check "the server outlives its jobs" [ "$(property MainPID)" = "$main" ]

# Prints how many milliseconds the service took until it was ready, after its process had started.
ready_ms() {
  local from to
  from=$(systemctl show --property ExecMainStartTimestampMonotonic --value graphd@debian.service)
  to=$(systemctl show --property ActiveEnterTimestampMonotonic --value graphd@debian.service)
  echo $(((to - from) / 1000))
}
# Prints how often a daemon has taken over a graph, as the journal says.
taken_over() { journalctl --no-pager -u graphd@debian | grep -c 'took over the graph'; }

kill -9 "$main"
for _ in $(seq 200); do
  [ "$(property MainPID)" != "$main" ] && [ "$(property ActiveState)" = active ] && break
  sleep 0.05
done
check "it is restarted after kill -9" [ "$(property ActiveState)" = active ]
check "it has taken over the graph" [ "$(taken_over)" = 1 ]
ok "it was ready $(ready_ms) ms after its start"
systemctl restart graphd@debian
check "after systemctl restart, too" [ "$(taken_over)" = 2 ]
ok "it was ready $(ready_ms) ms after its start"
if job; then ok "it serves a third job"; else bad "the third job"; cat job.log; fi

# replace SIGNAL: kills the daemon, and waits until the next process is ready.
replace() {
  local pid
  pid=$(property MainPID)
  systemctl reset-failed graphd@debian  # systemd gives up after five starts in ten seconds
  systemctl kill --kill-who=main --signal="$1" graphd@debian
  for _ in $(seq 200); do
    [ "$(property MainPID)" != "$pid" ] && [ "$(property ActiveState)" = active ] && break
    sleep 0.02
  done
  ok "it was ready $(ready_ms) ms after its start"
}

# A job's daemon is replaced three times: by systemctl, after kill -9, and as the watchdog does it.
job 60 undisturbed.log || bad "a job of 60 epochs"
before=$(taken_over)
job 60 disturbed.log &
disturbed=$!
await_epoch 5; systemctl restart graphd@debian || bad "systemctl restart"
await_epoch 15; replace KILL
await_epoch 25; replace ABRT
if wait $disturbed; then ok "a job goes on while its daemon is replaced"; else
  bad "a job whose daemon is replaced"; cat disturbed.log
fi
check "each process has taken over the graph" [ "$(taken_over)" = $((before + 3)) ]
check "its losses are those of an undisturbed job, in $(numbers disturbed.log | wc -l) lines" \
  diff <(numbers undisturbed.log) <(numbers disturbed.log)
check "these are all losses" [ "$(numbers disturbed.log | wc -l)" = 61 ]

main=$(property MainPID)
begin=$(milliseconds)
check "systemctl stop" systemctl stop graphd@debian
ok "stopped in $(($(milliseconds) - begin)) ms"
check "it ended cleanly" [ "$(property Result)" = success ]
check "no process is left" [ ! -e "/proc/$main" ]
check "no socket is left" [ ! -e /run/graphd/debian ]

printf 'part_config = "/srv/parts/none.json"\npart_id = 0\n' >/etc/graphd/debian.conf
if systemctl start graphd@debian 2>/dev/null; then
  bad "started with a missing graph"
else
  check "a start with a missing graph is not repeated" [ "$(property ActiveState)" = failed ]
  why=$(property StatusText)
  check "systemctl status says why: $why" grep -q none.json <<<"$why"
fi
[ $failures -eq 0 ] || { echo "$failures failed"; journalctl --no-pager -u graphd@debian -n 90; }
exit $((failures > 0))
