#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of service_test.sh that runs in the container, as root.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

systemd-sysusers && systemd-tmpfiles --create graphd.conf && systemctl daemon-reload
check "the user graphd exists" id graphd

verify=$(systemd-analyze verify graphd@debian.service graphd@debian.socket 2>&1)
if [ -z "$verify" ]; then ok "systemd-analyze verify is silent"; else bad "verify says: $verify"; fi
check "systemd-analyze security reports an exposure of at most 1.5" \
  systemd-analyze security --no-pager --offline=true --threshold=15 graphd@debian.service >/dev/null

if systemctl start graphd@debian 2>/dev/null; then
  bad "started without a configuration"
else
  ok "does not start without /etc/graphd/debian.conf"
fi

make_graph
configure
start
main=$(property MainPID)
status=$(property StatusText)
if [ -n "$status" ]; then ok "status: $status"; else bad "no status text"; fi
check "runs as graphd" [ "$(stat -c %U "/proc/$main")" = graphd ]
check "its socket is in /run/graphd/debian" [ -S /run/graphd/debian/30050.sock ]
check "without 'listen' nothing answers over TCP" \
  bash -c '! (exec 3<>/dev/tcp/127.0.0.1/30050) 2>/dev/null'

for round in first second; do
  if job && grep -q 'test accuracy: 0\.[0-9]' job.log; then
    ok "the $round job: $(grep -oE '(attach|test accuracy): .*' job.log | paste -sd' ')"
  else
    bad "the $round job"
    cat job.log
  fi
done
check "the server outlives its jobs" [ "$(property MainPID)" = "$main" ]

kill -9 "$main"
await_next "$main"
check "it is restarted after kill -9" [ "$(property ActiveState)" = active ]
check "it has taken over the graph" [ "$(taken_over)" = 1 ]
check_ready
systemctl restart graphd@debian
check "after systemctl restart, too" [ "$(taken_over)" = 2 ]
check_ready
if job; then ok "it serves a third job"; else bad "the third job"; cat job.log; fi

# The next process listens on TCP, too, and may be silent for two seconds.
systemctl stop graphd@debian
configure 'listen = "127.0.0.1:30050"'
set_watchdog 2
start

# A job's daemon is replaced three times: by systemctl, after kill -9, and by the watchdog. Clients
# that connect meanwhile wait.
job 200 undisturbed.log tcp || bad "a job of 200 epochs"
before=$(taken_over)
/usr/bin/python3 keep_connecting.py --server_name debian --ip_config ip_config.txt \
  --socket /run/graphd/debian/30050.sock --port 30050 >connecting.log 2>&1 &
connecting=$!
socket=$(stat -c %i /run/graphd/debian/30050.sock)
job 200 disturbed.log tcp &
disturbed=$!
await_epoch 5
main=$(property MainPID)
systemctl restart graphd@debian || bad "systemctl restart"
await_next "$main"; check_ready
await_epoch 15
systemctl reset-failed graphd@debian  # systemd gives up after five starts in ten seconds
main=$(property MainPID)
kill -KILL "$main"
await_next "$main"; check_ready
await_epoch 25
systemctl reset-failed graphd@debian
main=$(property MainPID)
kill -STOP "$main"
await_next "$main"; check_ready
check_unfinished 200
check "the watchdog has killed it" \
  grep -q 'graphd@debian.service: Watchdog timeout' <(journalctl --no-pager -u graphd@debian)
if wait $disturbed; then ok "a job goes on while its daemon is replaced"; else
  bad "a job whose daemon is replaced"; cat disturbed.log
fi
check "each process has taken over the graph" [ "$(taken_over)" = $((before + 3)) ]
same_numbers 201
kill $connecting
if wait $connecting; then ok "clients wait for each process: $(cat connecting.log)"; else
  bad "clients that connect while the daemon is replaced"; cat connecting.log
fi
check "the socket is the same" [ "$(stat -c %i /run/graphd/debian/30050.sock)" = "$socket" ]

main=$(property MainPID)
begin=$(milliseconds)
check "systemctl stop" systemctl stop graphd@debian
ok "stopped in $(($(milliseconds) - begin)) ms"
check "it ended cleanly" [ "$(property Result)" = success ]
check "no process is left" [ ! -e "/proc/$main" ]
check "no socket is left" [ -z "$(ls /run/graphd/debian)" ]
check "nobody answers over TCP" bash -c '! (exec 3<>/dev/tcp/127.0.0.1/30050) 2>/dev/null'

start
check "graphctl server stop" graphctl server stop --server_name debian --ip_config ip_config.txt
for _ in $(seq 100); do [ "$(property ActiveState)" = inactive ] && break; sleep 0.05; done
check "it is not started again" [ "$(property ActiveState)" = inactive ]
check "no socket is left" [ -z "$(ls /run/graphd/debian)" ]

printf 'part_config = "/srv/parts/none.json"\npart_id = 0\n' >/etc/graphd/debian.conf
if systemctl start graphd@debian 2>/dev/null; then
  bad "started with a missing graph"
else
  check "a start with a missing graph is not repeated" [ "$(property ActiveState)" = failed ]
  why=$(property StatusText)
  check "systemctl status says why: $why" grep -q none.json <<<"$why"
fi
finish
