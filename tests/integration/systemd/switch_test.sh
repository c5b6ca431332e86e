#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests under a real systemd that a server is switched to another version of its graph while a job
# uses the first one, and what the next process serves.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
run_inside inside_switch.sh
