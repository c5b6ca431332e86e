#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of socket_unit_test.sh that runs in the container, as root.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

socket_file=/run/graphd/debian/30050.sock
state() { systemctl show --property ActiveState --value "graphd@debian.$1"; }
await_state() {
  for _ in $(seq 200); do [ "$(state "$1")" = "$2" ] && return; sleep 0.05; done
  bad "graphd@debian.$1 is not $2"
}
answers() { timeout 30 graphctl ps --server_name debian --json >ps.log 2>&1 && grep -q '"ready"' ps.log; }
serves_socket() {
  journalctl --no-pager -u graphd@debian | grep -q "listening on $1, which graphd@debian.socket has passed"
}

systemd-sysusers && systemd-tmpfiles --create graphd.conf && systemctl daemon-reload
check "the socket unit needs a configuration" bash -c '! systemctl start graphd@debian.socket 2>/dev/null'
make_graph
configure

systemctl start graphd@debian.socket || bad "systemctl start graphd@debian.socket"
check "the socket is the one of graphd" [ "$(stat -c '%U:%G %a' $socket_file)" = "graphd:graphd 660" ]
check "its directory lets others in" [ "$(stat -c %a /run/graphd/debian)" = 755 ]
check "the server has not started" [ "$(state service)" = inactive ]
check "the first client starts it, and is answered" answers
check "the server listens on the unit's socket" serves_socket $socket_file
check "the directory is graphd's" [ "$(stat -c %U /run/graphd/debian)" = graphd ]
if job && grep -q 'test accuracy: 0\.[0-9]' job.log; then ok "a job trains"; else bad "a job"; cat job.log; fi

# forget_starts: systemd gives up after five starts in ten seconds.
forget_starts() { systemctl reset-failed graphd@debian.service graphd@debian.socket 2>/dev/null; }

# Other users than root see that graphd listens; trainers would refuse a socket of anybody else.
useradd --no-create-home --groups graphd alice 2>/dev/null
check "a user of the group is answered" \
  runuser -u alice -- graphctl ps --server_name debian --runtime_dir /run/graphd --json >/dev/null

main=$(property MainPID)
kill -9 "$main"
await_next "$main"
check "it is answered after kill -9" answers
systemctl restart graphd@debian
check "and after systemctl restart" answers

forget_starts

# A stop of the service leaves the socket, and the next client starts it again.
systemctl stop graphd@debian.service 2>stop.log
check "systemctl says what can start it again" grep -q graphd@debian.socket stop.log
check "the socket is left" [ -S $socket_file ]
check "the service has stopped" [ "$(state service)" = inactive ]
check "the next client starts it" answers

# A stop by graphctl leaves it, too, and says so.
graphctl server stop --server_name debian --ip_config ip_config.txt >stop.log 2>&1 || bad "graphctl server stop"
check "graphctl says: $(grep -m 1 next stop.log)" \
  grep -q 'systemctl stop graphd@debian.socket graphd@debian.service' stop.log
await_state service inactive
check "the socket is left" [ -S $socket_file ]
check "the next client starts it" answers

# The configuration may let everybody in: the daemon changes the mode.
systemctl stop graphd@debian.service 2>/dev/null
forget_starts
configure 'allow_read = ["all"]'
check "the server starts with other rights" answers
check "everybody may connect" [ "$(stat -c %a $socket_file)" = 666 ]

check "a full stop" systemctl stop graphd@debian.socket graphd@debian.service
check "no socket is left" [ ! -e $socket_file ]
check "clients are told so" bash -c '! graphctl server status --server_name debian --ip_config ip_config.txt >status.log 2>&1'

# With another port, the unit has to name it, and its TCP socket can be the unit's, too.
configure 'listen = "127.0.0.1:30060"'
forget_starts
systemctl start graphd@debian.socket
timeout 30 graphctl ps --server_name debian >ps.log 2>&1
await_state service failed
why=$(property StatusText)
check "a unit with another port is an error: $why" \
  grep -q "systemctl edit graphd@debian.socket.*ListenStream=/run/graphd/debian/30060.sock" <<<"$why"
await_state socket failed
systemctl stop graphd@debian.socket
forget_starts
mkdir -p /run/systemd/system/graphd@debian.socket.d
printf '[Socket]\nListenStream=\nListenStream=/run/graphd/debian/30060.sock\nListenStream=127.0.0.1:30060\n' \
  >/run/systemd/system/graphd@debian.socket.d/listen.conf
systemctl daemon-reload
systemctl start graphd@debian.socket || bad "a socket unit with TCP"
echo "127.0.0.1 30060" >ip_config.txt
check "a client over TCP starts the server" bash -c 'exec 3<>/dev/tcp/127.0.0.1/30060'
await_state service active
check "it listens on the unit's TCP socket" serves_socket 127.0.0.1:30060
if job 10 job.log tcp; then ok "a job trains over TCP"; else bad "a job over TCP"; cat job.log; fi
check "a full stop" systemctl stop graphd@debian.socket graphd@debian.service
check "no socket is left" [ -z "$(ls /run/graphd/debian)" ]

# The service works without the unit as before, also if that was stopped first.
systemctl start graphd@debian.socket
echo "127.0.0.1 30060" >ip_config.txt
check "the server starts" answers
systemctl stop graphd@debian.socket
check "the unit takes its socket away" [ ! -e /run/graphd/debian/30060.sock ]
systemctl restart graphd@debian
check "the next process makes its own, and answers" answers
systemctl restart graphd@debian
check "which stays for the process after it" answers
check "$(journalctl --no-pager -u graphd@debian | grep -c 'in place of') sockets were replaced" \
  bash -c '! journalctl --no-pager -u graphd@debian | grep -q "in place of"'
systemctl stop graphd@debian
check "no socket is left" [ -z "$(ls /run/graphd/debian)" ]
finish
