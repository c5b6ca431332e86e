#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs examples/link_prediction/debian.sh with the programs of this build: two servers, two
# trainers, a few steps on Debian's packages. Ranking by popularity alone must stay below each
# minimum that the model has to reach.
set -euo pipefail
bin=${GRAPHD_BIN_DIR:?is set by ctest}
debian=$(cd "$(dirname "$0")/../../../examples/link_prediction" && pwd)/debian.sh
work=$(mktemp -d /tmp/graphd-links-test.XXXXXX)
trap 'rm -rf "$work"' EXIT
failures=0
ok() { echo "ok    $*"; }
bad() { echo "FAIL  $*"; failures=$((failures + 1)); }

uniform_auc=0.94 popular_mrr=0.3 popular_auc=0.85
if BIN=$bin UNIFORM_AUC=$uniform_auc POPULAR_MRR=$popular_mrr POPULAR_AUC=$popular_auc VERBOSE=1 \
   TMPDIR=$work "$debian" 7 -- --num_epochs 1 --max_steps 80 --num_eval_edges 3000 \
   >"$work/log" 2>&1; then
  ok "$(tail -n 2 "$work/log")"
else
  bad "debian.sh"
fi
grep -qE 'edges of type package:depends:package .* 2 trainers' "$work/log" || bad "no two trainers"
# below MINIMUM KIND METRIC: checks that popularity alone stays below the minimum on the same pairs.
below() {
  local value
  value=$(sed -nE "s/^seed 7: test, $2 negatives:.*; by degree:.* $3 ([0-9.]+).*/\1/p" "$work/log")
  awk -v value="$value" -v floor="$1" 'BEGIN { exit !(value != "" && value < floor) }' ||
    bad "popularity alone has $3 '$value' with $2 negatives, not below $1"
}
below $uniform_auc uniform AUC
below $popular_mrr popular MRR
below $popular_auc popular AUC
# Processes that the script started have its folder in their arguments.
left=$(pgrep -af -- "$work/graphd-links" || true)
[ -z "$left" ] || bad "left behind: $left"
[ -z "$(find "$work" -mindepth 1 ! -name log)" ] || bad "files left behind: $(find "$work")"
[ $failures -eq 0 ] || cat "$work/log"
exit $((failures > 0))
