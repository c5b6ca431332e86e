#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests graphd@.socket under a real systemd: clients start the server, and wait while no process of it
# runs; stops of all kinds; and a unit with the wrong address.
set -euo pipefail
# shellcheck source=run_inside.sh
. "$(dirname "$0")/run_inside.sh"
run_inside inside_socket_unit.sh
