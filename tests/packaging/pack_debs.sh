#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packs a build tree (first argument) as Debian packages into a folder (second argument), which it
# replaces, and checks them with lintian.
set -euo pipefail
build=$1
packages=$2
work=$(mktemp -d /dev/shm/graphd-packages.XXXXXX)  # avoids the disk
trap 'rm -rf "$work"' EXIT
log=$work/log
cpack --config "$build/CPackConfig.cmake" -B "$work" >"$log" 2>&1 || { cat "$log"; exit 1; }
lintian --allow-root --fail-on error,warning "$work"/*.deb >"$log" 2>&1 || { cat "$log"; exit 1; }
rm -rf "$packages"
mkdir -p "$packages"
cp "$work"/*.deb "$packages"
