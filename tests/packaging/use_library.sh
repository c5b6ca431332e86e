#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds the README's trainer (folder `trainer` beside this file) against the installed library, once
# by find_package and once by pkg-config, and runs both against a server that graphctl starts.
#
#   use_library.sh README PREFIX
#
# PREFIX is where graphd is installed: /usr for the Debian packages. Everything is done in a
# temporary folder.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
readme=$1 prefix=$2

work=$(mktemp -d /tmp/graphd-library.XXXXXX)
trap 'rm -rf "$work"' EXIT
cp -r "$here/trainer" "$work"
cd "$work/trainer"
awk '/^```cpp$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$readme" >readme.inc
grep -q 'graphd::Initialize' readme.inc || { echo "$readme has no C++ trainer" >&2; exit 1; }

{ cmake -S . -B by_cmake -DCMAKE_PREFIX_PATH="$prefix" && cmake --build by_cmake; } >cmake.log 2>&1 ||
  { cat cmake.log; exit 1; }
if [ "$prefix" != /usr ]; then
  pc=$(find "$prefix/lib" -name graphd.pc)
  export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=$prefix/lib
fi
# shellcheck disable=SC2046
c++ trainer.cc -o by_pkg_config $(pkg-config --cflags --libs graphd)
readelf -d by_pkg_config | grep -q 'NEEDED.*libgraphclient\.so\.0' ||
  { echo "the trainer is not linked with libgraphclient.so.0" >&2; exit 1; }

# The graph has 3,000 nodes, each with edges to the next three; half of them are for training.
python3 - <<'PYTHON'
n = 3000
with open("edges.csv", "w") as edges:
    for i in range(n):
        for step in (1, 2, 3):
            edges.write(f"{i},{(i + step) % n}\n")
with open("nodes.csv", "w") as nodes:
    nodes.write("id,feat,label,train_mask\n")
    for i in range(n):
        nodes.write(f"{i},{i / 2},{i % 7},{'true' if i % 2 == 0 else 'false'}\n")
PYTHON
graphctl=$prefix/bin/graphctl
"$graphctl" partition --graph_name products --input edges.csv --nodes _N=nodes.csv --num_parts 1 \
  --part_method random --output parts >partition.log 2>&1 || { cat partition.log; exit 1; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
echo "127.0.0.1 $port" >ip_config.txt

for trainer in by_cmake/trainer by_pkg_config; do
  "$graphctl" launch --server_name products --workspace "$work/trainer" --num_trainers 1 \
    --runtime_dir "$work/run" --part_config parts/products.json --ip_config ip_config.txt \
    "./$trainer" >"$(basename "$trainer").out" 2>launch.log || { cat launch.log; exit 1; }
done
cat trainer.out
# Ten epochs of 1,500 seeds; the labels of even i in 0..2999 add up to 4,496.
grep -q '15000 seeds, .*labels 44960, ' trainer.out
diff trainer.out by_pkg_config.out
