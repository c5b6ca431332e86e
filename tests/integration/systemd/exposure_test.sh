#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that `systemd-analyze security` rates the exposure of graphd@.service at most 1.5, and that a
# unit without one of its protections would be noticed.
set -euo pipefail
unit=$(cd "$(dirname "$0")/../../.." && pwd)/packaging/systemd/graphd@.service
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

exposed() { ! systemd-analyze security --no-pager --offline=true --threshold=15 "$1" >"$scratch/report"; }

if exposed "$unit"; then
  grep -v '^✓' "$scratch/report"
  echo "the exposure of $unit is above 1.5" >&2
  exit 1
fi
tail -n 1 "$scratch/report"

grep -v -e '^PrivateMounts=' -e '^ProtectSystem=' "$unit" >"$scratch/graphd@.service"
if ! exposed "$scratch/graphd@.service"; then
  echo "this test would not notice a unit with less protection" >&2
  exit 1
fi
