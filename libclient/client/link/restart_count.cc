// SPDX-License-Identifier: Apache-2.0
#include "client/link/restart_count.h"

#include <cstdlib>

#include "base/strings.h"

namespace graphd {

uint32_t RestartCount() {
  const char* const text = std::getenv("GRAPHD_RESTART_COUNT");
  if (text == nullptr || *text == '\0') return 0;
  return static_cast<uint32_t>(ParseInt(text, "GRAPHD_RESTART_COUNT", 0, 1'000'000));
}

}  // namespace graphd
