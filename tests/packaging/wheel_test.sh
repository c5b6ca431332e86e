#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel and installs it by pip alone: in a new virtual environment without the system's
# packages, and in a Debian that has Python and neither a compiler nor a library of graphd's. There it
# partitions a graph, starts a server and runs a trainer. This Debian then is a host of a job that only
# computes. With Debian's PyTorch, it runs all commands and programs of the tutorial, docs/python.md. Then
# the test runs the programs in Debian 11, whose glibc is 2.31, with nothing but a shell. Arguments: the
# interpreter, and options for scripts/wheels.
# Needs root, PyPI and Debian's mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
# shellcheck source=run_tutorial.sh
. "$here/run_tutorial.sh"
python=$1
shift

if [ "$(id -u)" != 0 ]; then
  echo "installing Debian in a folder needs root: run this test as root" >&2
  exit 1
fi
unset PYTHONPATH
work=$(mktemp -d /tmp/graphd-wheel.XXXXXX)
trap 'cd /; umount "$work"; rmdir "$work"' EXIT
mount -t tmpfs -o size=4G,mode=755 graphd-wheel "$work"  # avoids the disk: dpkg syncs every file

"$source_dir/scripts/wheels" --output "$work/wheels" --config install.strip=true "$@" "$python"
built=$SECONDS
cd "$work"
tools=$source_dir/build/wheel-python/bin
PATH=$tools:$PATH "$tools/python" "$here/wheel_contents.py" wheels/graphd-*.whl

# Links programs as scripts/wheels does.
libraries=$("$source_dir/packaging/wheel/libraries")
for program in newer_glibc_test sd_daemon_test sd_journal_test; do
  # shellcheck disable=SC2046  # a list of options
  g++ -std=c++20 -Wall -Wextra -Werror "$here/$program.cc" -o $program "$libraries/lib/libsystemd.a" \
    $(cat "$libraries/link")
done
./newer_glibc_test
./newer_glibc_test old
./sd_daemon_test
./sd_journal_test

"$python" -m venv venv
venv/bin/pip download --disable-pip-version-check --dest wheels numpy >pip.log 2>&1 ||
  { cat pip.log; echo "NumPy's wheel can't be downloaded; is PyPI reachable?" >&2; exit 1; }
venv/bin/pip install --disable-pip-version-check --no-index --find-links wheels graphd >pip.log 2>&1 ||
  { cat pip.log; exit 1; }
venv/bin/python "$here/use_installed.py" "$source_dir/tests/fixtures/dgl/sbm_2p_metis"
# graphd speaks to a service manager.
GRAPHD_BIN_DIR=$work/venv/bin /usr/bin/python3 "$source_dir/tests/integration/restart/kept_graph_test.py" \
  KeptGraphTest.test_a_killed_daemon_leaves_its_graph_to_the_next_process

mmdebstrap --quiet --variant=minbase --include=python3-venv \
  "$(. /etc/os-release && echo "$VERSION_CODENAME")" root >debian.log 2>&1 || { cat debian.log; exit 1; }
cp -r wheels "$here/use_installed.py" "$here/wheel_trainer.py" \
  "$source_dir/tests/fixtures/dgl/sbm_2p_metis" root/srv
# shellcheck disable=SC2016  # the inner shells expand their variables
unshare --mount sh -ec '
  mount -t proc proc root/proc
  mount -t tmpfs shm root/dev/shm
  exec chroot root env -i HOME=/root PATH=/srv/env/bin:/usr/bin:/bin LANG=C.UTF-8 sh -ec "
    cd /srv
    if command -v cc; then exit 1; fi
    python3 -m venv env
    pip install --disable-pip-version-check --no-index --find-links wheels graphd >pip.log 2>&1 ||
      { cat pip.log; exit 1; }
    python use_installed.py sbm_2p_metis
    graphd --version
    graphctl --version
    seq 0 999 | while read i; do echo \$i,\$(((i + 1) % 1000)); done >edges.csv
    graphctl partition --graph_name ring --input edges.csv --num_parts 2 --output parts >log 2>&1 ||
      { cat log; exit 1; }
    echo 127.0.0.1 30050 >ip_config.txt
    echo 127.0.0.1 30051 >>ip_config.txt
    graphctl launch --workspace /srv --num_trainers 1 --part_config parts/ring.json \
      --ip_config ip_config.txt \"python wheel_trainer.py\""'

# A host without a partition needs nothing but the wheel.
mv root/srv/parts parts
find root/srv -mindepth 1 -maxdepth 1 -not -name env -not -name wheel_trainer.py -exec rm -r {} +
/usr/bin/python3 "$here/wheel_hosts.py" "$work/venv" "$work/root" "$work/parts"

# The tutorial needs PyTorch, too, which comes from Debian, and Matplotlib for its plots. Debian's Matplotlib
# brings a compiler, so PyPI's is taken, for the NumPy of Debian's PyTorch.
venv/bin/pip download --disable-pip-version-check --dest plots 'matplotlib<3.9' 'numpy<1.25' >pip.log 2>&1 ||
  { cat pip.log; exit 1; }
run_tutorial --
rm -r root

mmdebstrap --quiet --variant=extract --include=libc6,libgcc-s1,dash,coreutils,grep bullseye older \
  >debian.log 2>&1 || {
  cat debian.log
  echo "Debian 11 can't be installed; does the mirror still have it?" >&2
  exit 1
}
mkdir -p older/{proc,srv,tmp,dev/shm}
cp venv/bin/graphd venv/bin/graphctl newer_glibc_test venv/lib/python*/site-packages/graphd/_graphd*.so older/srv
# shellcheck disable=SC2016  # the inner shells expand their variables
unshare --mount sh -ec '
  mount -t proc proc older/proc
  mount -t tmpfs shm older/dev/shm
  exec chroot older env -i HOME=/root PATH=/srv:/usr/bin:/bin LANG=C.UTF-8 sh -ec "
    cd /srv
    newer_glibc_test
    newer_glibc_test old
    LD_BIND_NOW=1 graphd --version
    LD_BIND_NOW=1 graphctl --version
    # The loader finds all that the module needs but for the functions of Python.
    LD_TRACE_LOADED_OBJECTS=1 LD_WARN=1 LD_BIND_NOW=1 /lib64/ld-linux-*.so.2 ./_graphd*.so >found 2>&1
    grep -q libc.so.6 found
    if grep -e undefined -e \"not found\" found | grep -v \"undefined symbol: _*Py\"; then exit 1; fi
    seq 0 999 | while read i; do echo \$i,\$(((i + 1) % 1000)); done >edges.csv
    graphctl partition --graph_name ring --input edges.csv --num_parts 2 --output parts >log 2>&1 ||
      { cat log; exit 1; }
    graphctl verify parts
    echo 127.0.0.1 30050 >ip_config.txt
    echo 127.0.0.1 30051 >>ip_config.txt
    graphctl launch --workspace /srv --num_trainers 1 --part_config parts/ring.json \
      --ip_config ip_config.txt \"graphctl ps --server_name default\""'
echo "built the wheel in $built s, used it in $((SECONDS - built)) s"
