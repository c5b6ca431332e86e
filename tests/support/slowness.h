// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <stdlib.h>

#include <algorithm>
#include <thread>

#include "tests/support/sanitizers.h"

namespace graphd::testing {

// Returns the factor by which limits of time grow because of a sanitizer or of the machine's load;
// at least 1.
inline double Slowness() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) load = 0;
  const double processors = std::max(1U, std::thread::hardware_concurrency());
  return std::max(kSanitized ? 4.0 : 1.0, load / processors);
}

}  // namespace graphd::testing
