// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/log.h"

namespace graphd {

// The names of the levels, in the order of LogLevel.
inline constexpr std::array<const char*, 4> kLogLevelNames{"debug", "info", "warning", "error"};

inline const char* LogLevelName(LogLevel level) noexcept {
  return kLogLevelNames[static_cast<size_t>(level)];
}

// Returns the level of this name; nothing if no level has this name.
inline std::optional<LogLevel> LogLevelFromName(std::string_view name) noexcept {
  for (size_t i = 0; i < kLogLevelNames.size(); i++) {
    if (name == kLogLevelNames[i]) return static_cast<LogLevel>(i);
  }
  return std::nullopt;
}

}  // namespace graphd
