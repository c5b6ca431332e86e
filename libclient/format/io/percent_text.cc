// SPDX-License-Identifier: Apache-2.0
#include "format/io/percent_text.h"

#include <algorithm>
#include <cstdio>

namespace graphd {

std::string PercentText(uint64_t part, uint64_t all) {
  if (part == 0 || all == 0) return "0 %";
  if (part == all) return "100 %";
  char text[32];
  const double percent = 100 * static_cast<double>(part) / static_cast<double>(all);
  // Rounding would make 99.96 percent "100.0".
  std::snprintf(text, sizeof text, percent < 1 ? "%.2g %%" : "%.1f %%", std::min(percent, 99.9));
  return text;
}

}  // namespace graphd
