// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "client/link/control.h"
#include "ctl/plan/control_order.h"

namespace graphd::ctl {

// Carries out an operator's order by requests to a daemon of this host. `input` is the part of
// standard input that was read after the order. Calls `send` for the frames that SwitchGraph sends
// before its answer. Returns the frame "control" with the answer. Throws Error.
nlohmann::json CarryOutControl(const ControlOrder& order, ControlClient& client,
                               const std::function<void(const nlohmann::json&)>& send,
                               const std::string& input);

}  // namespace graphd::ctl
