// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/log.h"

namespace graphd {

// Sends a line to journald with its fields: MESSAGE, PRIORITY, GRAPHD_SERVER and, unless they are
// empty, GRAPHD_JOB, GRAPHD_PEER and GRAPHD_OP. Returns whether this has succeeded. Thread-safe.
bool SendToJournal(const std::string& server_name, LogLevel level, const std::string& text,
                   const LogFields& fields) noexcept;

}  // namespace graphd
