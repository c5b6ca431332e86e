// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <nlohmann/json.hpp>

#include "client/link/control.h"
#include "ctl/plan/control_order.h"

namespace graphd::ctl {

// Asks a daemon of this host for what an operator wants. Returns the frame of the answer, whose
// kind is "control". Throws Error.
nlohmann::json CarryOutControl(const ControlOrder& order, ControlClient& client,
                               const std::function<void(const nlohmann::json&)>& send);

}  // namespace graphd::ctl
