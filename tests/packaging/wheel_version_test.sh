#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds a wheel for one interpreter, checks what it has, installs it by pip alone in a new virtual
# environment, imports all of its modules that need nothing but NumPy, and reads a graph with it. With
# --debian, does the same in that release of Debian, with its own Python, pip and glibc, and runs a job
# there. With --tutorial, also runs the tutorial there with that release's PyTorch, and compares what this
# PyTorch makes of tensors with their rows. wheel_test.sh does much more with the wheel for Debian 12's
# python3.
#
#   wheel_version_test.sh [--debian RELEASE [--tutorial]] INTERPRETER [options for scripts/wheels]
#
# Needs PyPI; --debian needs root and Debian's mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
# shellcheck source=run_tutorial.sh
. "$here/run_tutorial.sh"
debian='' tutorial=no
if [ "$1" = --debian ]; then
  debian=$2
  shift 2
fi
if [ "$1" = --tutorial ]; then
  tutorial=yes
  shift
fi
python=$1
shift

unset PYTHONPATH
work=$(mktemp -d /tmp/graphd-wheel-version.XXXXXX)
if [ -n "$debian" ]; then
  trap 'cd /; umount "$work"; rmdir "$work"' EXIT
  mount -t tmpfs -o size=4G,mode=755 graphd-wheel-version "$work"  # avoids the disk: dpkg syncs every file
else
  trap 'cd /; rm -rf "$work"' EXIT
fi
"$source_dir/scripts/wheels" --output "$work/wheels" --config install.strip=true "$@" "$python"
cd "$work"
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
ls wheels/graphd-*-"$tag-$tag"-manylinux_2_28_*.whl
tools=$source_dir/build/wheel-python/bin
PATH=$tools:$PATH "$tools/python" "$here/wheel_contents.py" wheels/graphd-*.whl
"$python" -m venv venv
venv/bin/pip download --disable-pip-version-check --dest wheels numpy >pip.log 2>&1 ||
  { cat pip.log; echo "NumPy's wheel can't be downloaded; is PyPI reachable?" >&2; exit 1; }
venv/bin/pip install --disable-pip-version-check --no-index --find-links wheels graphd >pip.log 2>&1 ||
  { cat pip.log; exit 1; }
venv/bin/python "$here/import_all.py"
venv/bin/python "$here/use_installed.py" "$source_dir/tests/fixtures/dgl/sbm_2p_metis"
venv/bin/graphd --version
[ -n "$debian" ] || exit 0

mmdebstrap --quiet --variant=minbase --include=python3-venv "$debian" root >debian.log 2>&1 ||
  { cat debian.log; echo "Debian $debian can't be installed; does the mirror have it?" >&2; exit 1; }
cp -r wheels "$here"/{import_all,use_installed,wheel_trainer}.py "$source_dir/tests/fixtures/dgl/sbm_2p_metis" \
  root/srv
# shellcheck disable=SC2016  # the inner shells expand their variables
unshare --mount sh -ec '
  mount -t proc proc root/proc
  mount -t tmpfs shm root/dev/shm
  exec chroot root env -i HOME=/root PATH=/srv/env/bin:/usr/bin:/bin LANG=C.UTF-8 sh -ec "
    cd /srv
    . /etc/os-release
    echo \$PRETTY_NAME
    python3 -m venv env
    pip install --disable-pip-version-check --no-index --find-links wheels graphd >pip.log 2>&1 ||
      { cat pip.log; exit 1; }
    python import_all.py
    python use_installed.py sbm_2p_metis
    seq 0 999 | while read i; do echo \$i,\$(((i + 1) % 1000)); done >edges.csv
    graphctl partition --graph_name ring --input edges.csv --num_parts 2 --output parts >log 2>&1 ||
      { cat log; exit 1; }
    echo 127.0.0.1 30050 >ip_config.txt
    echo 127.0.0.1 30051 >>ip_config.txt
    graphctl launch --workspace /srv --num_trainers 1 --part_config parts/ring.json \
      --ip_config ip_config.txt \"python wheel_trainer.py\""'
[ $tutorial = yes ] || exit 0

# Debian's Matplotlib brings a compiler, so PyPI's is taken.
venv/bin/pip download --disable-pip-version-check --dest plots matplotlib >pip.log 2>&1 ||
  { cat pip.log; exit 1; }
mkdir -p root/srv/graphd/tests/fixtures/dgl
cp -r "$source_dir"/tests/fixtures/dgl/{hetero_2p,sbm_2p_metis} root/srv/graphd/tests/fixtures/dgl
# The PyTorch of Debian 13 is built without libuv, which it would use for process groups.
run_tutorial USE_LIBUV=0 -- tensors/tensor_protocol_test.py
