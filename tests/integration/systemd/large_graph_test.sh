#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests, under a real systemd, that a server of a graph of 2 GiB is ready at once when its process is
# replaced. The graph lies outside the container's files, which are in memory.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
graph=$(mktemp -d /var/cache/graphd-large.XXXXXX)  # /tmp and /var/tmp are private to the unit
trap 'container_stop; rm -rf "$graph"' EXIT
mkdir "$graph/raw"
"$source_dir/tests/tools/wide_graph.py" "$graph/raw" $((2 << 30)) >/dev/null
"$bin/graphctl" partition --graph_name wide --input "$graph/raw/metadata.json" --num_parts 1 \
  --part_method random --output "$graph/parts" >"$graph/log" 2>&1 || { cat "$graph/log"; exit 1; }
chmod -R a+rX "$graph"
container_start
install_files graphd graphctl
container_run /srv/inside_large_graph.sh "$graph/parts/wide.json"
