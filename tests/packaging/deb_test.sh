#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian packages of a build tree (first argument) with apt in a minimal Debian system,
# and uses them there. Needs root and Debian's mirror.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
source_dir=$(cd "$here/../.." && pwd)
build=$1

if [ "$(id -u)" != 0 ]; then
  echo "installing Debian in a folder needs root: run this test as root" >&2
  exit 1
fi
work=$(mktemp -d /tmp/graphd-deb.XXXXXX)
trap 'cd /; umount "$work"; rmdir "$work"' EXIT
mount -t tmpfs -o size=3G,mode=755 graphd-deb "$work"  # dpkg syncs every file that it writes

cd "$work"
cpack --config "$build/CPackConfig.cmake" -B "$work" >cpack.log 2>&1 || { cat cpack.log; exit 1; }
packed=$SECONDS
# shellcheck disable=SC2016  # $1 is expanded by the shell that mmdebstrap runs
mmdebstrap --quiet --variant=apt \
  --customize-hook="cp $work/*.deb \"\$1/srv\"" \
  --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /srv/*.deb"' \
  "$(. /etc/os-release && echo "$VERSION_CODENAME")" root >debian.log 2>&1 ||
  { cat debian.log; exit 1; }
echo "packed in $packed s, Debian with the packages in $((SECONDS - packed)) s"

cp -r "$here/use_installed.py" "$source_dir/tests/fixtures/dgl/sbm_2p_metis" root/srv
unshare --mount sh -ec '
  mount -t proc proc root/proc
  exec chroot root env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 sh -ec "
    /usr/bin/python3 /srv/use_installed.py /srv/sbm_2p_metis
    graphd --version
    graphctl --version
    test -f /usr/share/man/man1/graphctl.1
    dpkg -r graphd python3-graphd >/dev/null
    test ! -e /usr/bin/graphd
    test ! -e /usr/lib/python3/dist-packages/graphd"'
