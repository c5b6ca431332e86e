#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests graphd@.service under a real systemd: installs everything like a package, starts the server,
# attaches a job, stops the server, and checks that nothing remains.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../../.." && pwd)
bin=${GRAPHD_BIN_DIR:?is set by ctest}

if [ "$(id -u)" != 0 ]; then
  echo "a container with systemd needs root: run this test as root" >&2
  exit 1
fi

# shellcheck source=container.sh
. "$here/container.sh"
trap container_stop EXIT
container_start

DESTDIR=$ROOT cmake --install "$bin/.." --prefix /usr >/dev/null
install -D -m 755 "$source_dir/tests/tools/small_graph.py" "$ROOT/srv/small_graph.py"
install -m 755 "$here/inside.sh" "$ROOT/srv/inside.sh"
container_run /srv/inside.sh
