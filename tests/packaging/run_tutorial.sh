# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# This is sourced by tests of wheels, whose working directory has wheels/, and in root/ a Debian with
# Python. They set source_dir, the root of the repository, and here, this folder.

# run_tutorial [VARIABLE=VALUE...] [-- TEST...]: runs the tutorial in root/, with Debian's PyTorch and with
# the packages in plots/, and after it these programs of tests/python.
run_tutorial() {
  local environment=() tests=$source_dir/tests test
  while [ $# -gt 0 ] && [ "$1" != -- ]; do
    environment+=("$1")
    shift
  done
  [ $# = 0 ] || shift
  mkdir -p root/srv/graphd/tests/tools
  for test in support.py package/tutorial_test.py "$@"; do
    install -D -m 644 "$tests/python/$test" "root/srv/graphd/tests/python/$test"
  done
  cp "$tests/tools/free_ports.py" root/srv/graphd/tests/tools
  cp "$here/tutorial_inside.sh" root/srv
  cp -r wheels plots root/srv
  # shellcheck disable=SC2016  # the inner shell expands its variables
  unshare --mount sh -ec '
    mount -t proc proc root/proc
    mount -t tmpfs shm root/dev/shm
    DEBIAN_FRONTEND=noninteractive chroot root sh -ec "
      apt-get update
      apt-get install --yes --no-install-recommends python3-torch" >debian.log 2>&1 || { cat debian.log; exit 1; }
    exec chroot root env -i HOME=/root PATH=/srv/tutorial/bin:/usr/bin:/bin LANG=C.UTF-8 "$@"' sh \
    "${environment[@]}" sh -e /srv/tutorial_inside.sh "$@"
}
