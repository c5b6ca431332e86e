// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "client/link/control.h"
#include "ctl/plan/control_order.h"

namespace graphd::ctl {

// Switches the daemon to another version of its graph, together with the server's other daemons:
// lets it load the version, sends {"t": "prepared"}, and waits on standard input for the line that
// says whether all other daemons have loaded it, too (kCommitLine or kAbortLine). `input` is the
// part of standard input that was read before. Progress is sent as {"t": "progress"}. Returns the
// answer. Throws the daemon's Error, and Error(kUnavailable) if the switch was given up. In the
// latter case, nothing has changed.
nlohmann::json SwitchGraph(const ControlOrder& order, ControlClient& client,
                           const std::function<void(const nlohmann::json&)>& send,
                           std::string input);

}  // namespace graphd::ctl
