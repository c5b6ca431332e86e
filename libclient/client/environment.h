// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// Returns an environment variable; "" if it is not set.
std::string EnvironmentText(const char* name);

// Returns a whole number of the environment, or `otherwise` if the variable is empty or not set.
// Throws Error(kInvalid), which names the variable and its value, for anything else and for a
// number outside [min, max].
int EnvironmentInt(const char* name, int otherwise, int min, int max);

}  // namespace graphd
