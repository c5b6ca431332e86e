// SPDX-License-Identifier: Apache-2.0
#include "client/environment.h"

#include <cstdlib>

#include "base/strings.h"

namespace graphd {

std::string EnvironmentText(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

int EnvironmentInt(const char* name, int otherwise, int min, int max) {
  const std::string text = EnvironmentText(name);
  return text.empty() ? otherwise : static_cast<int>(ParseInt(text, name, min, max));
}

}  // namespace graphd
