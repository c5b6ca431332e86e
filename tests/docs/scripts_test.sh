#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Checks the scripts for new users: setup is silent if nothing is missing, packages.txt is sorted
# and names packages that exist, and the others have a --help and refuse unknown options.
set -euo pipefail
cd "$(dirname "$0")/../.."
status=0
bad() { echo "FAIL  $*"; status=1; }

said=$(scripts/setup 2>&1) || bad "scripts/setup fails: $said"
[ -z "$said" ] || bad "scripts/setup is not silent: $said"
names=$(grep -v '^#' scripts/packages.txt | cut -d' ' -f1)
LC_ALL=C sort -uc <<<"$names" || bad "scripts/packages.txt is not sorted"
while read -r name note; do
  [[ -z $note || $note = *test* ]] || continue
  dpkg-query -W "$name" >/dev/null 2>&1 || bad "scripts/packages.txt: $name is not installed"
done < <(grep -v '^#' scripts/packages.txt)
for script in docs fuzz image setup test quickstart lint record_fuzzing.py select_tests.py wheels; do
  scripts/$script --help | grep -q "scripts/$script" || bad "scripts/$script --help"
  ! scripts/$script --no-such-option >/dev/null 2>&1 || bad "scripts/$script takes --no-such-option"
done
while read -r script; do
  bash -n "$script" || bad "$script"
done < <(grep -rlE '^#!/bin/bash' scripts .ci tests examples)
exit $status
