#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks that the project in the section "Linking" of libgraphclient(3) can be configured, and that
# a program of the manual compiles in it. The manual's other programs show that it links.
set -euo pipefail
source_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -n '/^cmake_minimum_required/,/^\.Ed/p' "$source_dir/man/libgraphclient.3" | grep -v '^\.Ed' \
  >"$work/CMakeLists.txt"
grep -q graphclient "$work/CMakeLists.txt" || { echo "the manual shows no project" >&2; exit 1; }
ln -s "$source_dir" "$work/graphd"
cp "$source_dir/examples/manual/session.cc" "$work/trainer.cc"
cmake -G Ninja -S "$work" -B "$work/build" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
for option in TESTS BENCH EXAMPLES; do
  grep "^GRAPHD_BUILD_$option:BOOL=OFF" "$work/build/CMakeCache.txt"
done
ninja -C "$work/build" CMakeFiles/trainer.dir/trainer.cc.o
