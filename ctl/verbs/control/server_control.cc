// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/control/ask.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {

void AddServerControl(CLI::App& app) {
  CLI::App& server = *app.get_subcommand("server");
  AddDrain(server);
  AddEndJob(server);
  AddLogLevel(server);
  AddServerLogs(server);
  AddReload(server);
  AddSwitch(server);
}

}  // namespace graphd::ctl
