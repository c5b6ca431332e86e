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

# The lines of the log have fields, by which the journal finds them.
fields() { journalctl --no-pager --output=json "$@"; }
field() { /usr/bin/python3 -c 'import json, sys; print(json.loads(sys.stdin.readline()).get(sys.argv[1]))' "$1"; }
id=$(fields GRAPHD_SERVER=debian GRAPHD_OP=attach | field GRAPHD_JOB)
check "the journal names a job that has attached: $id" [ -n "$id" ] && [ "$id" != None ]
check "the journal finds both records of this job" \
  [ "$(journalctl --no-pager --output=cat "GRAPHD_JOB=$id" | paste -sd,)" = "job $id has attached,job $id has left" ]
check "their priority is info" [ "$(fields "GRAPHD_JOB=$id" | field PRIORITY)" = 6 ]
check "their program is graphd" [ "$(fields "GRAPHD_JOB=$id" | field SYSLOG_IDENTIFIER)" = graphd ]
check "they belong to the unit" [ "$(fields "GRAPHD_JOB=$id" | field _SYSTEMD_UNIT)" = graphd@debian.service ]
timeout 60 graphctl server logs --server_name debian --follow --since "$(date '+%F %T')" >followed.log 2>&1 &
following=$!
graphctl server drain --server_name debian --ip_config ip_config.txt --reason 'for the log' >/dev/null
graphctl server undrain --server_name debian --ip_config ip_config.txt >/dev/null
peer=$(fields GRAPHD_SERVER=debian GRAPHD_OP=drain | field GRAPHD_PEER)
check "the journal says who has drained it: $peer" grep -qE '^pid [0-9]+, uid 0$' <<<"$peer"
for _ in $(seq 200); do grep -q 'ends the drain' followed.log && break; sleep 0.05; done
kill $following
if grep -q 'drains this server.*for the log' followed.log && grep -q 'ends the drain' followed.log; then
  ok "graphctl server logs follows the journal"
else
  bad "graphctl server logs does not follow the journal"; cat followed.log
fi
graphctl server logs --server_name debian --ip_config ip_config.txt --json >logs.json || bad "graphctl server logs"
check "graphctl server logs shows the job with its field" grep -q "\"job\":\"$id\"" logs.json
check "it also shows what systemd says about the unit" grep -q '"program":"systemd"' logs.json
graphctl server logs --server_name debian --level warning --json >warnings.json || bad "graphctl server logs --level"
check "a level hides less important records" bash -c '! grep -q "\"level\":\"info\"" warnings.json'

# A member of the service's group may control the server, and other users may not even connect.
check "useradd" useradd --no-create-home --groups graphd alice 2>/dev/null
check "useradd" useradd --no-create-home bob 2>/dev/null
# control_as USER VERB [OPTION...]: controls the server as this user.
control_as() {
  runuser -u "$1" -- graphctl server "$2" --server_name debian --ip_config ip_config.txt \
    "${@:3}" >"$1.log" 2>&1
}
# check_denied WHAT PATTERN VERB [OPTION...]: checks that bob is told that and why he may not.
check_denied() {
  local code
  control_as bob "${@:3}"
  code=$?
  check "$1" [ $code = 10 ]
  check "he is told: $(head -n 1 bob.log)" grep -qE "$2" bob.log
}
drains() { graphctl server status --server_name debian --ip_config ip_config.txt | grep -c DRAINED; }
outside='no permission for /run/graphd/debian/30050\.sock; .*join the group that owns the socket'
check "a member of the group finds the server without its address" \
  runuser -u alice -- graphctl status --server_name debian >alice.log
check "a member of the group drains the server" control_as alice drain --reason 'by the group'
check "it is drained" [ "$(drains)" = 1 ]
check "the journal says who has drained it" \
  grep -q ", uid $(id -u alice)\"" <(fields GRAPHD_SERVER=debian GRAPHD_OP=drain)
check_denied "another user may not undrain it" "$outside" undrain
check "it is still drained" [ "$(drains)" = 1 ]
check "a member of the group undrains it" control_as alice undrain
check "it is no longer drained" [ "$(drains)" = 0 ]
check_denied "another user may not drain it" "$outside" drain
check "it is still not drained" [ "$(drains)" = 0 ]
# Someone whom the configuration lets read may connect, and still not control the server.
configure 'allow_read = ["user:bob"]' 'allow_operate = ["group:graphd"]'
check "graphctl server reload" graphctl server reload --server_name debian >reload.log
check "a user who may read sees the status" control_as bob status
bob=$(id -u bob)
check_denied "but may not drain the server" \
  "user $bob may not control this server \(role: reader\).*--allow_operate user:$bob" drain
check "it is not drained" [ "$(drains)" = 0 ]
check "a member of a group that may operate drains it" control_as alice drain
check "it is drained again" [ "$(drains)" = 1 ]
check "and undrains it" control_as alice undrain
# shellcheck disable=SC2119  # there are no more lines
configure
check "a reload takes rights back" graphctl server reload --server_name debian >reload.log
check_denied "the user may not connect then" "$outside" status

hurry
replace "kill -9" kill_process
replace "systemctl restart" restart
check "each process has taken over the graph" [ "$(taken_over)" = "$replaced" ]
if job; then ok "it serves a third job"; else bad "the third job"; cat job.log; fi

# The next process listens on TCP, too, and may be silent for two seconds.
systemctl stop graphd@debian
configure 'listen = "127.0.0.1:30050"'
set_watchdog 2
start

# A job's daemon is replaced in three ways: by systemctl, after kill -9, and by the watchdog. Clients
# that connect meanwhile wait.
job 600 undisturbed.log tcp || bad "a job of 600 epochs"
/usr/bin/python3 keep_connecting.py --server_name debian --ip_config ip_config.txt \
  --socket /run/graphd/debian/30050.sock --port 30050 >connecting.log 2>&1 &
connecting=$!
socket=$(stat -c %i /run/graphd/debian/30050.sock)
job 600 disturbed.log tcp &
disturbed=$!
await_epoch 5
pace_job &
pacing=$!
replace "systemctl restart" restart
await_epoch 15
replace "kill -9" kill_process
await_epoch 25
replace "a watchdog kill" stop_process
check_unfinished 600
kill $pacing
resume_job
check "the watchdog has killed it" \
  grep -q 'graphd@debian.service: Watchdog timeout' <(journalctl --no-pager -u graphd@debian)
if wait $disturbed; then ok "a job goes on while its daemon is replaced"; else
  bad "a job whose daemon is replaced"; cat disturbed.log
fi
check "each process has taken over the graph" [ "$(taken_over)" = "$replaced" ]
same_numbers 601
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
