#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests Debian's package graphd under a real systemd: a job trains on a graph of 2 GiB while the server's
# process is replaced, also by an upgrade; then its removal and its purging.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
work=$(mktemp -d /tmp/graphd-upgrade.XXXXXX)
# The graph lies outside the container's files, which are in memory, and the unit has its own /tmp.
graph=$(mktemp -d /var/cache/graphd-large.XXXXXX)
trap 'container_stop; rm -rf "$work" "$graph"' EXIT

# with_version VERSION: packs the package once more, as another version.
with_version() {
  sed -i "s/^Version: .*/Version: $1/" "$work/content/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$work/content" "$ROOT/srv/graphd_$1.deb" >/dev/null
}

mkdir "$graph/raw"
"$source_dir/tests/tools/wide_graph.py" "$graph/raw" $((2 << 30)) >/dev/null
"$bin/graphctl" partition --graph_name wide --input "$graph/raw/metadata.json" --num_parts 1 \
  --part_method random --output "$graph/parts" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
chmod -R a+rX "$graph"

cpack --config "$bin/../CPackConfig.cmake" -B "$work/packed" -D CPACK_COMPONENTS_ALL=graphd \
  >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
dpkg-deb --raw-extract "$work"/packed/graphd_*.deb "$work/content"
container_start
install_files lib graphctl examples python
install -m 755 "$bin/../tests/chaos_trainer" "$ROOT/srv"
for version in 7.1.0 7.1.1 7.2.0; do with_version $version; done
container_run /srv/inside_upgrade.sh "$graph/parts"
