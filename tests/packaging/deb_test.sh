#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of a folder (second argument) with apt in a new Debian root that has
# only build tools and Python, and uses them there: the programs, the manuals, the tutorial, the
# Python package, and the library, with which it builds and runs the README's trainer. Also installs
# the library of the build tree (first argument) under a prefix on this machine and uses it from
# there. Needs root and a Debian mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$1
packages=$2

if [ "$(id -u)" != 0 ]; then
  echo "installing Debian in a folder needs root: run this test as root" >&2
  exit 1
fi
work=$(mktemp -d /tmp/graphd-deb.XXXXXX)
trap 'cd /; umount "$work"; rmdir "$work"' EXIT
mount -t tmpfs -o size=4G,mode=755 graphd-deb "$work"  # avoids the disk: dpkg syncs every file

cd "$work"
cmake --install "$build" --prefix "$work/prefix" >install.log 2>&1 || { cat install.log; exit 1; }
"$here/use_library.sh" "$source_dir/README.md" "$work/prefix"

start=$SECONDS
# shellcheck disable=SC2016  # mmdebstrap's own shell expands $1
mmdebstrap --quiet --variant=apt --include=g++,make,cmake,pkg-config,python3 \
  --customize-hook="cp $packages/*.deb \"\$1/srv\"" \
  --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /srv/*.deb"' \
  "$(. /etc/os-release && echo "$VERSION_CODENAME")" root >debian.log 2>&1 ||
  { cat debian.log; exit 1; }
echo "installed Debian with the packages in $((SECONDS - start)) s"

cp -r "$here/use_installed.py" "$here/use_documents.py" "$here/use_library.sh" "$here/trainer" \
  "$source_dir/README.md" "$source_dir/tests/fixtures/dgl/sbm_2p_metis" root/srv
unshare --mount sh -ec '
  mount -t proc proc root/proc
  mount -t tmpfs shm root/dev/shm
  exec chroot root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh -ec "
    /usr/bin/python3 /srv/use_installed.py /srv/sbm_2p_metis
    /srv/use_library.sh /srv/README.md /usr
    graphd --version
    graphctl --version
    /usr/bin/python3 /srv/use_documents.py
    dpkg -r graphd graphctl libgraphclient-dev libgraphclient0 python3-graphd >/dev/null
    test ! -e /usr/bin/graphd
    test ! -e /usr/include/graphd
    test ! -e /usr/share/doc/python3-graphd
    test ! -e /usr/lib/python3/dist-packages/graphd"'
