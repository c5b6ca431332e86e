# SPDX-License-Identifier: Apache-2.0
# Functions of the tests that run in the container, as root, about the server `debian`. Source this
# file.
cd /srv || exit 1
failures=0
ok() { echo "ok    $*"; }
bad() { echo "FAIL  $*"; failures=$((failures + 1)); }
check() { local what=$1; shift; if "$@"; then ok "$what"; else bad "$what"; fi; }
property() { systemctl show --property "$1" --value graphd@debian.service; }
milliseconds() { echo $(($(date +%s%N) / 1000000)); }
# Ends the test, with the log if a check has failed.
finish() {
  [ $failures -eq 0 ] || { echo "$failures failed"; journalctl --no-pager -u 'graphd@debian*' -n 90; }
  exit $((failures > 0))
}

# The graph that is served, and the directory of its part config.
name=small parts=/srv/parts

# Makes this graph, in one part, and ip_config.txt.
make_graph() {
  /usr/bin/python3 small_graph.py --nodes 400 --classes 4 raw
  graphctl partition --graph_name $name --input raw --num_parts 1 --output $parts >partition.log 2>&1 ||
    { bad "graphctl partition"; cat partition.log; exit 1; }
  chmod -R a+rX $parts
  echo "127.0.0.1 30050" >ip_config.txt
}

# configure [LINE...]: writes the configuration, with more lines.
configure() {
  printf '%s\n' "part_config = \"$parts/$name.json\"" 'part_id = 0' "$@" >/etc/graphd/debian.conf
}

# set_service FILE LINE...: adds lines to the section [Service] of the unit, from the next start on.
set_service() {
  mkdir -p /run/systemd/system/graphd@debian.service.d
  printf '%s\n' '[Service]' "${@:2}" >"/run/systemd/system/graphd@debian.service.d/$1.conf"
  systemctl daemon-reload
}
# set_watchdog SECONDS: lets systemd kill a process that is silent for so long.
set_watchdog() { set_service watchdog "WatchdogSec=$1"; }
# Gives the server a processor whenever it has work, so that its times are those of a machine that has
# nothing else to do, how busy this one may be.
hurry() { set_service hurry CPUSchedulingPolicy=rr CPUSchedulingPriority=1; }

# start: starts the server, or ends the test.
start() {
  local begin
  begin=$(milliseconds)
  if systemctl start graphd@debian; then
    ok "systemctl start returns when ready: $(($(milliseconds) - begin)) ms"
  else
    bad "systemctl start"
    systemctl status --no-pager --full graphd@debian
    journalctl --no-pager -u graphd@debian -n 40
    exit 1
  fi
}

# job [EPOCHS [LOG [TRANSPORT]]]: trains with two trainers. Unless the transport is auto, each batch
# needs the server.
job() {
  timeout 120 nice -n 19 graphctl launch --server_name debian --workspace /srv --num_trainers 2 \
    --part_config $parts/$name.json --ip_config ip_config.txt \
    --extra_envs "GRAPHD_TRANSPORT=${3:-auto}" \
    "train_sage --graph_name $name --num_epochs ${1:-10} --batch_size 50 --fan_out 5,5 --lr 0.02 --num_hidden 16 --log_every 0 --seed 3" \
    >"${2:-job.log}" 2>&1
}
# Prints the losses and accuracies of a job.
numbers() { grep -oE 'epoch [0-9]+: loss [0-9.]+, train accuracy [0-9.]+|test accuracy.*' "$1"; }
# await_epoch N: waits until the job that writes disturbed.log has ended an epoch.
await_epoch() {
  for _ in $(seq 600); do grep -q "epoch $1:" disturbed.log && return; sleep 0.05; done
  bad "the job does not end epoch $1"
}
# Stop the trainers of the job, and let them go on. An epoch takes some milliseconds, so a job would end
# while a busy machine answers a few questions.
# shellcheck disable=SC2046  # there are several
hold_job() { kill -STOP $(pidof train_sage) || bad "the job has ended too early"; }
# shellcheck disable=SC2046
resume_job() { kill -CONT $(pidof train_sage); }
# Lets the trainers run for a tenth of the time only, until it is killed.
pace_job() {
  while hold_job; do
    sleep 0.45
    resume_job
    sleep 0.05
  done
}
# check_unfinished EPOCHS: checks that the job that writes disturbed.log is not about to end.
check_unfinished() {
  check "the job was running: $(grep -oE 'epoch [0-9]+' disturbed.log | tail -n 1) of $1" \
    [ -z "$(grep "epoch $(($1 - 1)):" disturbed.log)" ]
}
# same_numbers LINES: checks that both jobs had the same losses and accuracies, so many.
same_numbers() {
  check "its losses are those of an undisturbed job, in $(numbers disturbed.log | wc -l) lines" \
    diff <(numbers undisturbed.log) <(numbers disturbed.log)
  check "these are all losses" [ "$(numbers disturbed.log | wc -l)" = "$1" ]
}

# Prints how many milliseconds the service took until it was ready, after its process had started.
ready_ms() {
  local from to
  from=$(systemctl show --property ExecMainStartTimestampMonotonic --value graphd@debian.service)
  to=$(systemctl show --property ActiveEnterTimestampMonotonic --value graphd@debian.service)
  echo $(((to - from) / 1000))
}
# Prints how often a daemon has taken over a graph, as the journal says.
taken_over() { journalctl --no-pager -u graphd@debian | grep -c 'took over the graph'; }
# await_next PID: waits until another process than this one is ready.
await_next() {
  for _ in $(seq 500); do
    [ "$(property MainPID)" != "$1" ] && [ "$(property ActiveState)" = active ] && return
    sleep 0.02
  done
  bad "no process follows $1"
}
# replace HOW COMMAND...: replaces the server's process, whose number is $main, by running the command.
# The next process is ready within 200 ms of its start. Systemd, which starts it and is told, waits for a
# processor on a busy machine: there are up to five tries, of which the last, and fastest, counts.
replaced=0
replace() {
  local how=$1 ms='' tries=''
  shift
  for _ in 1 2 3 4 5; do
    systemctl reset-failed graphd@debian  # systemd gives up after five starts in ten seconds
    main=$(property MainPID)
    "$@" || bad "$how"
    await_next "$main"
    replaced=$((replaced + 1))
    ms=$(ready_ms)
    tries+="$ms ms, "
    [ "$ms" -gt 200 ] || break
  done
  check "$how: the next process is ready after ${tries%, }" [ "$ms" -le 200 ]
}
# Ways to replace a process.
kill_process() { kill -KILL "$main"; }
restart() { systemctl restart graphd@debian; }
# The watchdog kills a process that is silent.
stop_process() { kill -STOP "$main"; }

steps() { grep -c '^step' "trainer$1.log"; }

# start_trainer N: starts a trainer that checks each step.
trainers=()
start_trainer() {
  : >"trainer$1.log"
  GRAPHD_SERVER_NAME=debian GRAPHD_IP_CONFIG=/srv/ip_config.txt GRAPHD_MODEL="$parts/$name.json" \
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
