// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// Returns an environment variable; "" if it is not set.
std::string EnvironmentText(const char* name);

// Returns a whole number of the environment, or `otherwise` if the variable is empty or not set.
// Throws Error(kInvalid), which names the variable and its value, for anything else and for a
// number outside [min, max].
int EnvironmentInt(const char* name, int otherwise, int min, int max);

// Returns a number of bytes of the environment, such as "500M" or "2GiB"; 0 if the variable is
// empty or not set. Throws as EnvironmentInt does.
uint64_t EnvironmentBytes(const char* name);

// Parses a number of bytes: whole or decimal, alone or with K, M, G or T for powers of 1024, each
// also with B or iB. Throws Error(kInvalid), which names `what` and the text.
uint64_t ParseBytes(const std::string& text, const std::string& what);

}  // namespace graphd
