#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of switch_test.sh that runs in the container, as root.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

systemd-sysusers && systemd-tmpfiles --create graphd.conf && systemctl daemon-reload
make_graph
/usr/bin/python3 small_graph.py --nodes 700 --classes 4 raw2
graphctl partition --graph_name small --input raw2 --num_parts 1 --output parts2 >partition2.log 2>&1 ||
  { bad "graphctl partition"; cat partition2.log; exit 1; }
chmod -R a+rX parts2
configure 'listen = "127.0.0.1:30050"'
start
nodes() {
  graphctl server status --server_name debian --ip_config ip_config.txt --json |
    /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["status"]["partitions"][0]["nodes"])'
}
versions() {
  graphctl server status --server_name debian --ip_config ip_config.txt --json |
    /usr/bin/python3 -c 'import json, sys; print(len(json.load(sys.stdin)[0]["status"]["graphs"]))'
}
check "the first graph is served" [ "$(nodes)" = 400 ]

# A job goes on with its graph while the server switches; each of its batches needs the server.
job 200 undisturbed.log tcp || bad "a job of 200 epochs"
job 200 disturbed.log tcp &
disturbed=$!
await_epoch 5
hold_job
main=$(property MainPID)
resume_job
if graphctl server switch /srv/parts2/small.json --server_name debian --ip_config ip_config.txt >switch.log 2>&1
then ok "$(cat switch.log)"; else bad "graphctl server switch: $(cat switch.log)"; fi
check "the job was counted" grep -q '1 job keeps an earlier version' switch.log
check_unfinished 200
check "the other graph is served" [ "$(nodes)" = 700 ]
check "both are in memory" [ "$(versions)" = 2 ]
if job 3 new.log tcp; then ok "a new job"; else bad "a new job"; cat new.log; fi
first_loss() { grep -oE 'epoch 1: loss [0-9.]+' "$1"; }
check "a new job has losses" [ -n "$(first_loss new.log)" ]
check "a new job has other losses" [ "$(first_loss new.log)" != "$(first_loss undisturbed.log)" ]
if wait $disturbed; then ok "the job went on"; else bad "the job"; cat disturbed.log; fi
same_numbers 201
check "the process is the same" [ "$(property MainPID)" = "$main" ]
# Both jobs could come back for two minutes.
for _ in $(seq 150); do [ "$(versions)" = 1 ] && break; sleep 1; done
check "the memory of the first graph is given back" [ "$(versions)" = 1 ]

# systemd keeps the graph that is served now, and the configuration still names the other one.
kill -9 "$main"
await_next "$main"
check "the next process has taken over the graph" [ "$(taken_over)" = 1 ]
check "it is the one that was switched to" [ "$(nodes)" = 700 ]
systemctl restart graphd@debian
check "after systemctl restart, too" [ "$(taken_over)" = 2 ]
check "it is the one that was switched to" [ "$(nodes)" = 700 ]

# The configuration follows, and names yet another one later.
sed -i 's|/srv/parts/|/srv/parts2/|' /etc/graphd/debian.conf
systemctl restart graphd@debian
check "a configuration that follows changes nothing" [ "$(nodes)" = 700 ]
cp -r parts parts3 && chmod -R a+rX parts3
sed -i 's|/srv/parts2/|/srv/parts3/|' /etc/graphd/debian.conf
systemctl restart graphd@debian
check "a third part config in the configuration is served" [ "$(nodes)" = 400 ]
check "graphctl server switch without a path" \
  bash -c "sed -i 's|/srv/parts3/|/srv/parts2/|' /etc/graphd/debian.conf &&
    graphctl server switch --server_name debian --ip_config ip_config.txt >switch.log 2>&1"
check "it takes the part config of the configuration" [ "$(nodes)" = 700 ]
finish
