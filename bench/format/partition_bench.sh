#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Times graphctl partition on a random graph of .npy files that are not cached, and compares it with
# reading and writing as many bytes with dd. By default it has the size of ogbn-products:
#
#   bench/format/partition_bench.sh [--nodes N] [--edges N] [--floats N] [--dtype float16] [--parts N]
#                            [--memory GB] [--bin DIR] [--work DIR] [-- OPTIONS OF graphctl partition]
#
# A tenth of ogbn-papers100M, out of core, in 400 MiB:
#
#   bench/format/partition_bench.sh --nodes 11100000 --edges 161500000 --floats 128 --dtype float16 \
#     --parts 8 -- --part_method random --memory 400MiB
#
# --memory (default 8) limits the memory, page cache included, with a cgroup (version 1) if root can
# create one; otherwise only the peak is shown. --bin: the folder of graphctl and npy_graph (default
# build/release/bin). The files are written to a temporary folder in --work (default /tmp), which is
# removed at the end.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

nodes=2450000 edges=124000000 floats=100 parts=2 memory=8 bin=build/release/bin work=/tmp dtype=float32
method=(--part_method random)
while [ $# -gt 0 ]; do
  case $1 in
    --nodes|--edges|--floats|--dtype|--parts|--memory|--bin|--work)
      printf -v "${1#--}" %s "${2:?$1 needs a value}"; shift 2 ;;
    --) shift; method=("$@"); break ;;
    *) sed -n '3,18s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
  esac
done

dir=$(mktemp -d "$work/graphd_partition_bench.XXXXXX") cgroup='' watcher=''
clean_up() {
  [ -z "$watcher" ] || { kill "$watcher" && wait "$watcher"; } 2>/dev/null || true
  if [ -n "$cgroup" ]; then
    echo $$ >"$(dirname "$cgroup")/cgroup.procs"
    rmdir "$cgroup" || true
  fi
  rm -rf "$dir"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

now() { date +%s.%N; }
size() { du -cb "$@" | tail -1 | cut -f1; }
# Drops files from the page cache.
cold() { for file in "$@"; do dd if="$file" iflag=nocache count=0 status=none; done; }
# Prints a result: show NAME SECONDS BYTES.
show() { awk -v n="$1" -v s="$2" -v b="$3" 'BEGIN {
  printf "%-34s %8.1f s %8.0f MB %8.0f MB/s\n", n, s, b / 1e6, b / 1e6 / s }'; }
since() { awk -v a="$1" -v b="$(now)" 'BEGIN { print b - a }'; }

# Writes the peak memory of $cgroup without page cache, in bytes, to the file $1.
watch() {
  local most=-1 rss
  while sleep 0.2; do
    rss=$(awk '$1 == "total_rss" { print $2 }' "$cgroup/memory.stat")
    [ "$rss" -le "$most" ] || { most=$rss; echo "$most" >"$1"; }
  done
}

enter_cgroup() {
  local own
  own=$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)
  cgroup=/sys/fs/cgroup/memory${own%/}/graphd_bench.$$
  if [ -z "$own" ] || ! mkdir "$cgroup" 2>/dev/null; then
    cgroup=''
    echo "no cgroup can be created here: the memory is not limited"
    return
  fi
  echo "${memory}G" >"$cgroup/memory.limit_in_bytes"
  watch "$dir/rss" & watcher=$!  # the watcher stays outside of the cgroup
  echo $$ >"$cgroup/cgroup.procs"
}

[ "$dtype" != float32 ] || dtype=''
"$bin/npy_graph" "$dir" "$nodes" "$edges" "$floats" ${dtype:+"$dtype"}
in=("$dir/edges.npy" "$dir/feat.npy") input_bytes=$(size "$dir"/*.npy)
sync "${in[@]}"
enter_cgroup

cold "${in[@]}"
start=$(now)
for file in "${in[@]}"; do dd if="$file" of=/dev/null bs=4M status=none; done
read_seconds=$(since "$start")
show "dd: read the input" "$read_seconds" "$input_bytes"

cold "${in[@]}"
[ -z "$cgroup" ] || echo 0 >"$cgroup/memory.max_usage_in_bytes"
start=$(now)
"$bin/graphctl" partition --input "${in[0]}" --nodes ".feat=${in[1]}" --graph_name bench \
  --num_parts "$parts" --output "$dir/out" "${method[@]}" --json >"$dir/summary.json" 2>"$dir/log" ||
  { cat "$dir/log" >&2; exit 1; }
seconds=$(since "$start")
output_bytes=$(size "$dir"/out)

start=$(now)
dd if=/dev/zero of="$dir/copy" bs=4M count="$output_bytes" iflag=count_bytes conv=fsync status=none
write_seconds=$(since "$start")
show "dd: write as much as the output" "$write_seconds" "$output_bytes"

show "graphctl partition: in and out" "$seconds" $((input_bytes + output_bytes))
awk -v r="$read_seconds" -v w="$write_seconds" -v s="$seconds" 'BEGIN {
  printf "  times reading and writing the bytes once: %.2f\n", s / (r + w) }'
awk -F'[:,]' '/"(read_seconds|edge_cut_share)"/ { gsub(/[ "]/, ""); print "  " $1, $2 }
  /"peak_memory_bytes"/ { printf "  peak resident, mapped files included: %.2f GB\n", $2 / 1e9 }' \
  "$dir/summary.json"
if [ -n "$cgroup" ]; then
  awk '{ printf "  peak without mapped files: %.2f GB\n", $1 / 1e9 }' "$dir/rss"
  awk -v gb="$memory" '{ printf "  peak with page cache: %.2f GB, limit %s GiB\n", $1 / 1e9, gb }' \
    "$cgroup/memory.max_usage_in_bytes"
fi
