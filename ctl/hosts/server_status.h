// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <nlohmann/json.hpp>
#include <string>

#include "client/link/control.h"

// A daemon's status as JSON (what --json prints, and what crosses between hosts) and as text.

namespace graphd::ctl {

nlohmann::json StatusToJson(const ServerStatus& status);

// One daemon with its partitions and jobs, indented under `host`. Takes the JSON, which may come
// from a graphctl of another version: keys that are missing are shown as unknown.
std::string StatusToText(const std::string& host, const nlohmann::json& status);

}  // namespace graphd::ctl
