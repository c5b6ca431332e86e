#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# graphd@.service under a real systemd: the files in packaging/ are installed as a package would
# install them, the server is started, a job attaches, the server is stopped, nothing stays.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../../.." && pwd)
bin=${GRAPHD_BIN_DIR:?is set by ctest}

if [ "$(id -u)" != 0 ]; then
  echo "skipped: a container with systemd needs root"
  exit 77
fi

# shellcheck source=container.sh
. "$here/container.sh"
trap container_stop EXIT
container_start

install -m 755 "$bin/graphd" "$bin/graphctl" "$bin/train_sage" "$ROOT/usr/bin/"
install -D -m 644 "$source_dir/packaging/systemd/graphd@.service" \
  "$ROOT/usr/lib/systemd/system/graphd@.service"
install -D -m 644 "$source_dir/packaging/systemd/graphd.sysusers" "$ROOT/usr/lib/sysusers.d/graphd.conf"
install -D -m 644 "$source_dir/packaging/systemd/graphd.tmpfiles" "$ROOT/usr/lib/tmpfiles.d/graphd.conf"
install -D -m 644 "$source_dir/man/graphd.8" "$ROOT/usr/share/man/man8/graphd.8"
install -D -m 644 "$source_dir/man/graphd.conf.5" "$ROOT/usr/share/man/man5/graphd.conf.5"
install -D -m 755 "$source_dir/tests/tools/small_graph.py" "$ROOT/srv/small_graph.py"
install -m 755 "$here/inside.sh" "$ROOT/srv/inside.sh"
container_run /srv/inside.sh
