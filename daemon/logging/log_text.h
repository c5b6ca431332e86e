// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

#include "base/log.h"

namespace graphd {

// Returns a line of the daemon's log as text, "2026-11-26T13:18:04.123+01:00 warning <text>\n",
// which `graphctl server logs` reads. `microseconds` since 1970 are shown in this machine's time
// zone. If the text has several lines, those after the first are indented, so that no text can look
// like another line of the log. Control characters are escaped.
std::string LogText(LogLevel level, const std::string& text, int64_t microseconds);

}  // namespace graphd
