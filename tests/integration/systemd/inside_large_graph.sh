#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The part of large_graph_test.sh that runs in the container, as root. The argument is a part config.
set -uo pipefail
# shellcheck source=inside_common.sh
. "$(dirname "$0")/inside_common.sh"

systemd-sysusers && systemd-tmpfiles --create graphd.conf
printf '%s\n' "part_config = \"$1\"" 'part_id = 0' >/etc/graphd/debian.conf
set_watchdog 5
start
check "the graph has 2 GiB: $(journalctl --no-pager -u graphd@debian | grep -o 'partition 0.*')" \
  [ "$(journalctl --no-pager -u graphd@debian | grep -c "partition 0 of 'wide': 2")" = 1 ]
replace() { main=$(property MainPID); "$@"; await_next "$main"; check_ready; }
stop_process() { kill -STOP "$main"; }
crash() { kill -KILL "$main"; }
for _ in first second; do
  systemctl reset-failed graphd@debian  # systemd gives up after five starts in ten seconds
  replace systemctl restart graphd@debian
  replace crash
  replace stop_process
done
check "each process has taken over the graph" [ "$(taken_over)" = 6 ]
check "the watchdog has killed two" [ "$(journalctl --no-pager -u graphd@debian | grep -c 'Watchdog timeout')" = 2 ]
check "a client is answered" grep -q '"ready"' <(graphctl ps --json)
systemctl stop graphd@debian
finish
