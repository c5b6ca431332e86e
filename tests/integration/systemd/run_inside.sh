# SPDX-License-Identifier: Apache-2.0
# The beginning of the tests that boot systemd in a container. Source this file.
#
#   run_inside SCRIPT   boots it, installs the build tree, and runs a script of this folder there

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$here/../../.." && pwd)
bin=${GRAPHD_BIN_DIR:?is set by ctest}

if [ "$(id -u)" != 0 ]; then
  echo "a container with systemd needs root: run this test as root" >&2
  exit 1
fi

# shellcheck source=container.sh
. "$here/container.sh"

# install_files [COMPONENT...]: installs components of the build tree, all if none is given, and the
# scripts for the container.
install_files() {
  local component
  if [ $# = 0 ]; then
    DESTDIR=$ROOT cmake --install "$bin/.." --prefix /usr >/dev/null
  fi
  for component in "$@"; do
    DESTDIR=$ROOT cmake --install "$bin/.." --prefix /usr --component "$component" >/dev/null
  done
  install -D -m 755 "$source_dir/tests/tools/small_graph.py" "$ROOT/srv/small_graph.py"
  install -m 755 "$here"/inside*.sh "$here"/*.py "$ROOT/srv"
}

run_inside() {
  trap container_stop EXIT
  container_start
  install_files
  container_run "/srv/$1"
}
