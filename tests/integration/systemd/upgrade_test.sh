#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the upgrade of Debian's package graphd under load, its removal and its purging, under a real systemd.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
work=$(mktemp -d /tmp/graphd-upgrade.XXXXXX)
trap 'container_stop; rm -rf "$work"' EXIT

# with_version VERSION: packs the package once more, as another version.
with_version() {
  sed -i "s/^Version: .*/Version: $1/" "$work/content/DEBIAN/control"
  dpkg-deb --root-owner-group --build "$work/content" "$ROOT/srv/graphd_$1.deb" >/dev/null
}

cpack --config "$bin/../CPackConfig.cmake" -B "$work/packed" -D CPACK_COMPONENTS_ALL=graphd \
  >"$work/cpack.log" 2>&1 || { cat "$work/cpack.log"; exit 1; }
dpkg-deb --raw-extract "$work"/packed/graphd_*.deb "$work/content"
container_start
install_files lib graphctl examples python
for version in 7.1.0 7.1.1 7.2.0; do with_version $version; done
container_run /srv/inside_upgrade.sh
