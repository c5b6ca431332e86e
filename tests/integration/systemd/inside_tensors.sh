#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of tensors_test.sh that runs in the container, as root.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

log() { journalctl --no-pager --output=cat -u graphd@debian; }
# Prints how often a daemon has taken over the memory of tensors.
tensors_taken_over() { log | grep -c 'took over the memory of tensors'; }
steps() { grep -c '^step' "trainer$1.log"; }

# start_trainer N [SECONDS]: starts a trainer that checks each step; its calls fail after so long.
trainers=()
start_trainer() {
  GRAPHD_SERVER_NAME=debian GRAPHD_IP_CONFIG=/srv/ip_config.txt GRAPHD_MODEL=/srv/parts/small.json \
    GRAPHD_JOB_ID="trainer$1" GRAPHD_PART_ID=0 GRAPHD_TIMEOUT=60 \
    /srv/chaos_trainer "journal$1" "embedding$1" "$1" >"trainer$1.log" 2>&1 &
  trainers[$1]=$!
}
# await_steps: waits until each trainer has made ten more steps.
await_steps() {
  local each before
  for each in "${!trainers[@]}"; do
    before=$(steps "$each")
    for _ in $(seq 400); do [ "$(steps "$each")" -ge $((before + 10)) ] && continue 2; sleep 0.05; done
    bad "trainer $each makes no steps"; tail -n 5 "trainer$each.log"; finish
  done
}
# check_taken N WHAT: checks that N processes have taken over the tensors, and that these are used.
check_taken() {
  await_steps
  check "$2: the next process has the memory of tensors" [ "$(tensors_taken_over)" = "$1" ]
  systemctl reset-failed graphd@debian  # systemd gives up after five starts in ten seconds
}
# Ends the trainers, which compare all rows.
check_rows() {
  local each
  for each in "${!trainers[@]}"; do
    kill -TERM "${trainers[$each]}"
    if wait "${trainers[$each]}"; then ok "trainer $each: $(tail -n 1 "trainer$each.log")"; else
      bad "the rows of trainer $each"; tail -n 5 "trainer$each.log"
    fi
  done
  trainers=()
}
descriptors() { property NFileDescriptorStore; }
named_memory() { find /dev/shm -maxdepth 1 -name 'graphd-*' | wc -l; }

install -D -m 644 /usr/share/doc/graphd/examples/kept-memory.conf \
  /etc/systemd/system/graphd@.service.d/kept-memory.conf || bad "the drop-in is not installed"
systemd-sysusers && systemd-tmpfiles --create graphd.conf && systemctl daemon-reload
make_graph
# shellcheck disable=SC2119  # there are no more lines
configure
set_watchdog 2
start
before=$(descriptors)
start_trainer 1
start_trainer 2
await_steps
check "the tensors are one descriptor more" [ "$(descriptors)" = $((before + 1)) ]
check "they are not in /dev/shm" [ "$(named_memory)" = 0 ]
check "and nobody else sees them" [ -z "$(ls /run/graphd-tensors)" ]

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
check "it is still one descriptor" [ "$(descriptors)" = $((before + 1)) ]

# A start that fails does not give the rows up, although systemd frees what it has kept. Without room
# for a copy in /dev/shm it is tried again until the error is mended; with room, the copy has a name.
break_configuration() {
  mv /etc/graphd/debian.conf debian.conf
  printf 'part_config = "/srv/parts/none.json"\npart_id = 0\n' >/etc/graphd/debian.conf
}
mount -o remount,size=40k /dev/shm
main=$(property MainPID)
break_configuration
kill -KILL "$main"
for _ in $(seq 200); do grep -q 'tries to start every 10 s' <(log) && break; sleep 0.05; done
check "a failed start says that it is tried again" grep -q 'tries to start every 10 s' <(log)
mv debian.conf /etc/graphd/debian.conf
await_next "$main"
check_taken 5 "after a start that failed"
check "no part of a copy is left" [ "$(named_memory)" = 0 ]
mount -o remount,size=50% /dev/shm
break_configuration
kill -KILL "$(property MainPID)"
for _ in $(seq 200); do [ "$(property ActiveState)" = failed ] && break; sleep 0.05; done
check "a start that fails ends if the rows are safe" [ "$(property ActiveState)" = failed ]
check "they are in /dev/shm" [ "$(named_memory)" = 1 ]
mv debian.conf /etc/graphd/debian.conf
systemctl start graphd@debian || bad "systemctl start"
check_taken 6 "after a service that failed"
check_rows

check "systemctl stop" systemctl stop graphd@debian
check "it keeps nothing" [ "$(descriptors)" = 0 ]
check "the database has no name of memory" [ -z "$(find /var/lib/graphd -name 'memory*')" ]
start
check "tensors that are persistent are read from the disk" [ "$(tensors_taken_over)" = 6 ]
systemctl stop graphd@debian

# A stop whose rows the disk has no room for copies them to /dev/shm, and needs no room for that.
state=/var/lib/graphd/debian
mv "$state" saved_state
mkdir "$state" && mount -t tmpfs -o size=256m,mode=750 state "$state"
cp -a saved_state/. "$state" && chown graphd:graphd "$state"
fill_disk() { head -c 256M /dev/zero >"$state/filler" 2>/dev/null; }
start
start_trainer 4
await_steps
fill_disk
check "systemctl stop with a full disk" systemctl stop graphd@debian
check "the log says where the rows are" grep -q 'it was copied to /dev/shm' <(log)
check "they are in /dev/shm" [ "$(named_memory)" = 1 ]
rm "$state/filler"
start
check_taken 7 "a stop with a full disk"
systemctl restart graphd@debian || bad "systemctl restart"
await_steps
check "what was copied is removed when it is on the disk" [ "$(named_memory)" = 0 ]
taken=$(tensors_taken_over)

# A signal that announces the next process is believed only if all rows are on the disk.
fill_disk
main=$(property MainPID)
kill -INT "$main"
while [ -d "/proc/$main" ]; do sleep 0.02; done
rm "$state/filler"
await_next "$main"
check_taken $((taken + 1)) "a signal with a full disk"
systemctl restart graphd@debian || bad "systemctl restart"
taken=$(tensors_taken_over)
await_steps

# Without room in /dev/shm either, the next process goes on with the memory.
fill_disk
mount -o remount,size=40k /dev/shm
main=$(property MainPID)
timeout 60 graphctl server stop --server_name debian --ip_config ip_config.txt --force \
  --timeout 0 >stop.log 2>&1
for _ in $(seq 60); do grep -q 'could not be copied' <(log) && break; sleep 0.5; done
check "a stop at once does not wait for the disk" grep -q 'stopping before all is done' <(log)
check "the log says that the rows are not safe" grep -q 'could not be copied' <(log)
rm "$state/filler"
sleep 10
await_next "$main"
check_taken $((taken + 1)) "server stop without room for the rows"
mount -o remount,size=50% /dev/shm
check_rows
systemctl stop graphd@debian
umount "$state" && rmdir "$state" && mv saved_state "$state"
taken=$(tensors_taken_over)

# Without room for another descriptor, the memory has a name in /dev/shm.
printf '[Service]\nFileDescriptorStoreMax=1\n' >/run/systemd/system/graphd@debian.service.d/few.conf
systemctl daemon-reload
start
start_trainer 3
await_steps
check "a full store is noticed" grep -q 'FileDescriptorStoreMax=' <(log)
check "the memory is in /dev/shm" [ "$(named_memory)" = 1 ]
main=$(property MainPID)
kill -KILL "$main"
await_next "$main"
check_taken $((taken + 1)) "kill -9 with memory in /dev/shm"

# An upgrade is like this: the next process can keep descriptors, and takes the memory that has a name.
rm /run/systemd/system/graphd@debian.service.d/few.conf
systemctl daemon-reload
main=$(property MainPID)
kill -KILL "$main"
await_next "$main"
check_taken $((taken + 2)) "kill -9 before an upgrade"
systemctl restart graphd@debian || bad "systemctl restart"
await_steps
check "after a clean end nothing is left in /dev/shm" [ "$(named_memory)" = 0 ]
main=$(property MainPID)
kill -KILL "$main"
await_next "$main"
check_taken $((taken + 3)) "kill -9 after an upgrade"
check_rows
finish
