#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of upgrade_test.sh that runs in the container, as root. The argument is the directory of a
# partitioned graph, named wide. The packages 7.1.0, 7.1.1 and 7.2.0 have the same content.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

install_package() {
  if dpkg --install "graphd_$1.deb" >dpkg.log 2>&1; then ok "dpkg --install of $1"; else
    bad "dpkg --install of $1"; cat dpkg.log
  fi
}
# Prints the program that the server's process runs; "(deleted)" follows if it was replaced.
program() { readlink "/proc/$(property MainPID)/exe"; }

install_package 7.1.0
check "the user graphd exists" id graphd
check "no server is started" [ "$(property ActiveState)" = inactive ]
parts=$1 name=wide
echo "127.0.0.1 30050" >ip_config.txt
configure 'listen = "127.0.0.1:30050"'
set_watchdog 2
hurry
start
check "the graph has 2 GiB: $(journalctl --no-pager -u graphd@debian | grep -o 'partition 0.*')" \
  grep -q "partition 0 of 'wide': 2" <(journalctl --no-pager -u graphd@debian)
job 300 undisturbed.log unix || bad "a job of 300 epochs"

# A job goes on while its server is replaced in each way, the last of which is an upgrade. Clients that
# connect meanwhile wait, and a trainer compares the rows that it changes with a model.
/usr/bin/python3 keep_connecting.py --server_name debian --ip_config ip_config.txt \
  --socket /run/graphd/debian/30050.sock --port 30050 >connecting.log 2>&1 &
connecting=$!
start_trainer 1
job 300 disturbed.log unix &
disturbed=$!
await_epoch 5
pace_job &
pacing=$!
replace "systemctl restart" restart
await_epoch 10
replace "kill -9" kill_process
await_epoch 15
replace "a watchdog kill" stop_process
await_epoch 20
replace "an upgrade of the package" install_package 7.1.1
kill $pacing
resume_job
check_unfinished 300
check "the watchdog has killed one" grep -q 'Watchdog timeout' <(journalctl --no-pager -u graphd@debian)
check "it runs the new program" [ "$(program)" = /usr/bin/graphd ]
check "each process has taken over the graph" [ "$(taken_over)" = $replaced ]
if wait $disturbed; then ok "the job goes on"; else bad "the job"; cat disturbed.log; fi
same_numbers 301
await_steps
check_rows
kill $connecting
if wait $connecting; then ok "clients wait: $(cat connecting.log)"; else
  bad "clients that connect while the server is replaced"; cat connecting.log
fi

# The rest is about a small graph.
systemctl stop graphd@debian
name=small parts=/srv/parts
make_graph
configure 'listen = "127.0.0.1:30050"'
start

# A version whose protocol may differ does not end jobs: the server goes on with its old program.
main=$(property MainPID)
install_package 7.2.0
check "a new minor version leaves servers alone" [ "$(property MainPID)" = "$main" ]
check "the upgrade says so: $(grep -m 1 'still run' dpkg.log)" \
  grep -q "systemctl try-restart 'graphd@\*.service'" dpkg.log
check "it runs the old program" [ "$(program)" = "/usr/bin/graphd (deleted)" ]
if job; then ok "which trains jobs"; else bad "a job with the old program"; cat job.log; fi
systemctl try-restart 'graphd@*.service'
check "the restart that it names starts the new program" [ "$(program)" = /usr/bin/graphd ]

# The removal stops servers and socket units.
systemctl stop graphd@debian
systemctl start graphd@debian.socket
check "a client starts the server" grep -q '"ready"' <(graphctl ps --json)
check "dpkg --remove" dpkg --remove graphd >/dev/null
check "no server is left" [ -z "$(pgrep -x graphd)" ]
check "no socket is left" [ -z "$(ls /run/graphd/debian 2>/dev/null)" ]
check "the unit is gone" [ "$(property LoadState)" = not-found ]
check "the memory of tensors is unmounted" [ -z "$(findmnt -n /run/graphd_memory)" ]
check "the configuration is left" [ -s /etc/graphd/debian.conf ]

# Purging asks about data; without an answer it stays.
touch /var/lib/graphd/debian/some_data
purge() { DEBIAN_FRONTEND=noninteractive dpkg --purge graphd >purge.log 2>&1 || { bad "dpkg --purge"; cat purge.log; }; }
purge
check "data stays: $(grep '^graphd: ' purge.log)" [ -e /var/lib/graphd/debian/some_data ]
check "the configuration stays" [ -s /etc/graphd/debian.conf ]
check "so does the user who owns it" id graphd
check "the runtime directory does not" [ ! -e /run/graphd ]
# An administrator at a terminal is asked.
answer_purge() {
  install_package 7.2.0
  start
  check "dpkg --remove" dpkg --remove graphd >/dev/null
  echo "$1" | DEBIAN_FRONTEND=teletype script --quiet --return --command 'dpkg --purge graphd' \
    purge.log >/dev/null || { bad "dpkg --purge, answered with $1"; cat purge.log; }
  check "the question names the directory" grep -q "The directory /var/lib/graphd has the tensors" \
    <(tr '\r\n' '  ' <purge.log)
}
answer_purge no
check "data stays after the answer no" [ -e /var/lib/graphd/debian/some_data ]
answer_purge yes
check "data goes after the answer yes" [ ! -e /var/lib/graphd ]

# A machine without an administrator has the answer before.
install_package 7.2.0
mkdir -p /etc/graphd && configure 'listen = "127.0.0.1:30050"'
start
echo 'graphd graphd/remove-data boolean true' | debconf-set-selections
check "dpkg --remove" dpkg --remove graphd >/dev/null
purge
for path in /var/lib/graphd /etc/graphd /run/graphd /run/graphd_memory; do
  check "$path is gone" [ ! -e $path ]
done
check "the user is gone" [ -z "$(getent passwd graphd)" ]
check "debconf has no question left" [ -z "$(debconf-show graphd)" ]
finish
