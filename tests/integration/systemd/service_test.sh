#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests graphd@.service under a real systemd: installs everything like a package, starts the server,
# attaches jobs, replaces its process in all ways, stops it, and checks that nothing remains.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
run_inside inside_service.sh
