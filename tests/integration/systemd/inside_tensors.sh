#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of tensors_test.sh that runs in the container, as root.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

log() { journalctl --no-pager --output=cat -u graphd@debian; }
# Prints how often a daemon has taken over the memory of tensors.
tensors_taken_over() { log | grep -c 'took over the memory of tensors'; }
# check_taken N WHAT: checks that N processes have taken over the tensors, and that these are used.
check_taken() {
  await_steps
  check "$2: the next process has the memory of tensors" [ "$(tensors_taken_over)" = "$1" ]
  systemctl reset-failed graphd@debian  # systemd gives up after five starts in ten seconds
}
memory=/run/graphd_memory
# Prints how many directories of memory there are.
memories() { find "$memory" -mindepth 2 -maxdepth 2 | wc -l; }
await_failed() { for _ in $(seq 200); do [ "$(property ActiveState)" = failed ] && return; sleep 0.05; done; }

systemd-sysusers && systemd-tmpfiles --create graphd.conf && systemctl daemon-reload
make_graph
# shellcheck disable=SC2119  # there are no more lines
configure
set_watchdog 2
start
start_trainer 1
start_trainer 2
await_steps
check "the memory of tensors is in a tmpfs of its own" [ "$(memories)" = 1 ]
check "it is mounted" [ "$(findmnt -n -o FSTYPE $memory)" = tmpfs ]
check "nothing is in /dev/shm" [ -z "$(find /dev/shm -name 'graphd-*')" ]
# shellcheck disable=SC2016  # the inner shell expands it
check "other users can neither read nor fill it" \
  setpriv --reuid nobody --regid nogroup --clear-groups \
  sh -c '! ls "$0"/debian/graphd-* && ! touch "$0/x" && ! touch "$0/debian/x"' "$memory" 2>/dev/null

for round in 1 2; do
  main=$(property MainPID)
  kill -KILL "$main"
  await_next "$main"
  check_taken "$round" "kill -9"
done
main=$(property MainPID)
systemctl restart graphd@debian || bad "systemctl restart"
check_taken 3 "systemctl restart"
main=$(property MainPID)
kill -STOP "$main"
await_next "$main"
check_taken 4 "the watchdog"
check "the watchdog has killed it" grep -q 'Watchdog timeout' <(log)

# systemd gives the service up after a start that fails, after too many, and after a stop. The memory
# is still there.
mv /etc/graphd/debian.conf debian.conf
printf 'part_config = "/srv/parts/none.json"\npart_id = 0\n' >/etc/graphd/debian.conf
kill -KILL "$(property MainPID)"
await_failed
check "a start with a faulty configuration ends" [ "$(property ActiveState)" = failed ]
mv debian.conf /etc/graphd/debian.conf
start
check_taken 5 "after a start that failed"
for _ in $(seq 100); do
  main=$(property MainPID)
  if [ "$main" != 0 ]; then kill -KILL "$main"; fi
  [ "$(property ActiveState)" = failed ] && break
  sleep 0.05
done
await_failed
check "systemd gives a service up that was killed too often" [ "$(property ActiveState)" = failed ]
before=$(tensors_taken_over)
systemctl reset-failed graphd@debian
start
check_taken $((before + 1)) "after kills in a row"
check "it is still one memory" [ "$(memories)" = 1 ]

check_rows

check "systemctl stop" systemctl stop graphd@debian
check "it leaves no memory" [ "$(memories)" = 0 ]
check "the database has no name of memory" [ -z "$(find /var/lib/graphd -name 'memory*')" ]
taken=$(tensors_taken_over)
start
check "tensors that are persistent are read from the disk" [ "$(tensors_taken_over)" = "$taken" ]
systemctl stop graphd@debian

# A stop whose rows the disk has no room for leaves them in the memory; so does a stop at once.
state=/var/lib/graphd/debian
mv "$state" saved_state
mkdir "$state" && mount -t tmpfs -o size=256m,mode=750 state "$state"
cp -a saved_state/. "$state" && chown graphd:graphd "$state"
fill_disk() { head -c 256M /dev/zero >"$state/filler" 2>/dev/null; }
start
start_trainer 4
await_steps
fill_disk
since=$(log | wc -l)
systemctl log-level debug
check "systemctl stop with a full disk" systemctl stop graphd@debian
systemctl log-level info
extended=$(log | tail -n "+$since" | grep -c 'Got notification message.*EXTEND_TIMEOUT_USEC=')
check "it asks for no more time when no bytes move: $extended times" [ "$extended" -le 2 ]
check "the rows are in memory" [ "$(memories)" = 1 ]
rm "$state/filler"
start
check_taken $((taken + 1)) "a stop with a full disk"
fill_disk
main=$(property MainPID)
systemctl stop --no-block graphd@debian
kill -KILL "$main"
for _ in $(seq 200); do [ "$(property MainPID)" = 0 ] && break; sleep 0.05; done
check "a stop was cut short" [ "$(property Result)" = signal ]
rm "$state/filler"
systemctl reset-failed graphd@debian
start
check_taken $((taken + 2)) "a stop that was cut short"
fill_disk
main=$(property MainPID)
kill -INT "$main"
while [ -d "/proc/$main" ]; do sleep 0.02; done
rm "$state/filler"
start
check_taken $((taken + 3)) "a signal that announces the next process, with a full disk"
left="(not all .* are|rows that had changed may not be) written back; they stay in $memory/debian/graphd-[^ ]*, from which the next start on this machine continues"
# stop_within SECONDS: stops the server with a full disk. Its log is in left.log, and stop.log has what
# graphctl says.
stop_within() {
  local since
  since=$(log | wc -l)
  fill_disk
  timeout 60 graphctl server stop --server_name debian --ip_config ip_config.txt --force \
    --timeout "$1" >stop.log 2>&1 || bad "server stop --force --timeout $1 with a full disk"
  for _ in $(seq 200); do log | tail -n "+$since" | grep -q 'Deactivated' && break; sleep 0.05; done
  log | tail -n "+$since" >left.log
  check "the rows are in memory" [ "$(memories)" = 1 ]
  rm "$state/filler"
  check "the log says where the rows are" grep -qE "$left" left.log
  check "graphctl says: $(grep 'it has ended:' stop.log)" grep -qE "it has ended: $left" stop.log
}
stop_within 0
check "a stop at once does not wait for the disk: $(grep 'before all is done' left.log)" \
  grep -qE "stopping before all is done: $left" left.log
check "it also says: $(grep 'attached' stop.log)" grep -q 'it has ended while 1 job was attached' stop.log
start
check_taken $((taken + 4)) "server stop --force --timeout 0 with a full disk"
stop_within 10
check "a stop tries to write for some time: $(grep 'not everything' left.log)" \
  grep -q 'not everything could be written back: .*No space left on device' left.log
start
check_taken $((taken + 5)) "server stop --force --timeout 10 with a full disk"
check_rows
systemctl stop graphd@debian
check "a stop writes the rows when there is room again" [ "$(memories)" = 0 ]
umount "$state" && rmdir "$state" && mv saved_state "$state"
taken=$(tensors_taken_over)

# A stop that has much to write takes longer than TimeoutStopSec, and shows how far it is.
set_service stop TimeoutStopSec=2s
# change_rows FIRST [--check]: writes, or checks, rows of 16 tensors. They are written back in many parts.
tensor_bytes=$((16 << 20))
change_rows() {
  /usr/bin/python3 change_rows.py --server_name debian --ip_config ip_config.txt --bytes $tensor_bytes \
    --tensors 16 --first "$@" >change.log 2>&1 || { bad "change_rows.py $*"; cat change.log; }
}
progress='writing changed rows back: [0-9.]+ [KMG]iB of 2[5-9][0-9] MiB, [0-9.]+ [KMG]iB/s, [0-9]+ s left'
# Prints what systemctl shows if that is progress.
shown() { grep -oE "Status: \"stopping: $progress" <(systemctl status --no-pager graphd@debian); }
# slow_stop COMMAND...: stops the server by a command. For 5 seconds, it may run for a part of the time
# only, as on a slow machine, but it does write before the timeout. Writes its statuses to statuses.log.
slow_stop() {
  local main begin stopping took hold
  main=$(property MainPID)
  begin=$(milliseconds)
  "$@" >stopping.log 2>&1 &
  stopping=$!
  : >statuses.log
  until grep -q 'writing changed rows back' <(property StatusText) || [ ! -d "/proc/$main" ]; do :; done
  while [ $(($(milliseconds) - begin)) -lt 5000 ] && kill -STOP "$main" 2>/dev/null; do
    hold=0.1
    shown >>statuses.log && hold=0.5
    sleep $hold
    kill -CONT "$main"
    sleep 0.02
  done
  while [ -d "/proc/$main" ]; do shown >>statuses.log; sleep 0.1; done
  wait $stopping || { bad "$*"; cat stopping.log; }
  took=$(($(milliseconds) - begin))
  check "$1 takes longer than TimeoutStopSec: $took ms" [ $took -gt 2000 ]
  check "and ends well" [ "$(property ActiveState),$(property Result)" = inactive,success ]
  check "all rows are written back" [ "$(memories)" = 0 ]
}
# check_progress FILE PATTERN: checks that it shows at least three numbers of bytes, in ascending order.
check_progress() {
  local lines bytes
  lines=$(grep -oE "$2" "$1")
  check "it shows: $(head -n 1 <<<"$lines") ... $(tail -n 1 <<<"$lines")" [ -n "$lines" ]
  bytes=$(sed -E 's/.*: ([0-9.]+) (.i)B of.*/\1\2/' <<<"$lines" | numfmt --from=iec-i | uniq)
  check "more and more bytes, $(wc -l <<<"$bytes") times" [ "$(wc -l <<<"$bytes")" -ge 3 ]
  check "never fewer" sort --check --numeric-sort <<<"$bytes"
}
start
change_rows 1
since=$(log | wc -l)
systemctl log-level debug
slow_stop systemctl stop graphd@debian
systemctl log-level info
check_progress statuses.log "$progress"
extended=$(journalctl --no-pager --output=cat -u graphd@debian | grep -c 'Got notification message.*EXTEND_TIMEOUT_USEC=30000000')
check "it has asked for more time while bytes moved, $extended times" [ "$extended" -ge 3 ]
log | tail -n "+$since" >left.log
check "the log says: $(grep -o 'changed rows are written back: .*' left.log)" \
  grep -q 'changed rows are written back: 2[5-9][0-9] MiB in' left.log
start
change_rows 1 --check
change_rows 2
slow_stop script --quiet --return --command \
  'graphctl server stop --server_name debian --ip_config ip_config.txt' bar.log
check_progress <(tr '\r' '\n' <bar.log) "\[[#.]+\] +[0-9]+ %  $progress"
check "then it has ended: $(tail -n 3 bar.log | grep -o '127.*')" grep -q '127.0.0.1:30050: stopped' bar.log
start
change_rows 2 --check
drop() { graphctl tensors drop changed{0..15} --server_name debian --ip_config ip_config.txt >/dev/null; }
check "graphctl tensors drop" drop
systemctl stop graphd@debian

# A start takes as long with tensors that hold 1 GiB.
tensor_bytes=$((64 << 20))
hurry
start
change_rows 3
taken=$(tensors_taken_over)
replaced=0
replace "kill -9 with 1 GiB of rows" kill_process
replace "systemctl restart with 1 GiB of rows" restart
check "each process has taken over their memory" [ "$(tensors_taken_over)" = $((taken + replaced)) ]
change_rows 3 --check
check "graphctl tensors drop" drop
systemctl stop graphd@debian
rm /run/systemd/system/graphd@debian.service.d/hurry.conf
rm /run/systemd/system/graphd@debian.service.d/stop.conf
systemctl daemon-reload
taken=$(tensors_taken_over)

# An upgrade from a version whose memory was in /dev/shm is like this: what has a name is taken, and
# after a clean end the memory is in its new place.
configure 'memory_dir = "/dev/shm"'
start
start_trainer 3
await_steps
check "memory_dir chooses another tmpfs" [ "$(find /dev/shm -name 'graphd-*' | wc -l)" = 1 ]
# shellcheck disable=SC2119
configure
main=$(property MainPID)
kill -KILL "$main"
await_next "$main"
check_taken $((taken + 1)) "kill -9 before an upgrade"
check_rows
systemctl stop graphd@debian
start
start_trainer 5
await_steps
check "then the memory is in its place" [ "$(memories)" = 1 ]
check "nothing is left in /dev/shm" [ -z "$(find /dev/shm -name 'graphd-*')" ]

check_rows

# The memory can't be unmounted by mistake.
for verb in stop restart; do
  check "systemctl $verb of the mount is refused" grep -q refused <(systemctl $verb run-graphd_memory.mount 2>&1)
done
check "it is still mounted" [ "$(findmnt -n -o FSTYPE $memory)" = tmpfs ]

# A restart with options that do not use the memory that it has left frees it.
configure 'durability = "power"'
systemctl restart graphd@debian || bad "systemctl restart"
check "memory that is not used is freed" [ "$(memories)" = 0 ]
# The size of the mount, and servers without it.
size() { echo $(($(stat -f -c '%b*%S' $memory))); }
total=$(($(awk '/MemTotal/ { print $2 }' /proc/meminfo) * 1024))
check "it has half of the memory: $(size) of $total bytes" [ $((($(size) * 100 + total / 2) / total)) = 50 ]
drop_in=/etc/systemd/system/run-graphd_memory.mount.d/test.conf
# start_with LINE...: starts the server with these lines in a drop-in of the mount.
start_with() {
  systemctl stop graphd@debian
  umount $memory
  mkdir -p "${drop_in%/*}" && printf '%s\n' "$@" >$drop_in && systemctl daemon-reload
  start
}
# shellcheck disable=SC2119
configure
start_with '[Mount]' 'Options=mode=0755,nosuid,nodev,noexec,size=512M'
check "a drop-in sets its size" [ "$(size)" = $((512 << 20)) ]
mount -o remount,size=600M $memory
check "so does mount, while the server runs" [ "$(size)" = $((600 << 20)) ]
start_with '[Unit]' 'ConditionPathExists=/none'
check "a server starts if a condition forbids the mount" [ -z "$(findmnt -n $memory)" ]
start_trainer 6
await_steps
check "its memory is in the tmpfs of /run" [ "$(memories)" = 1 ]
check_rows
finish
