#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that tensors survive all ends of their server under a real systemd: trainers compare each row
# with a model that nothing disturbs.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
trap container_stop EXIT
container_start
# shellcheck disable=SC2119  # all components
install_files
install -m 755 "$bin/../tests/chaos_trainer" "$ROOT/srv"
container_run /srv/inside_tensors.sh
