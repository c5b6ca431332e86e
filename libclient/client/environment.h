// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>

namespace graphd {

// Returns the value of an environment variable, or "" if it is not set.
std::string EnvironmentText(const char* name);

// Returns the whole number that an environment variable holds, or `otherwise` if the variable is
// empty or not set. Throws Error(kInvalid), which names the variable and its value, if the value is
// not a whole number or is outside [min, max].
int EnvironmentInt(const char* name, int otherwise, int min, int max);

// Returns the number of bytes that an environment variable holds, such as "500M" or "2GiB", or 0 if
// the variable is empty or not set. Throws Error(kInvalid), which names the variable and its value,
// if ParseBytes can't parse the value.
uint64_t EnvironmentBytes(const char* name);

// Parses a number of bytes: whole or decimal, alone or with K, M, G or T for powers of 1024, each
// also with B or iB. Throws Error(kInvalid), which names `what` and the text.
uint64_t ParseBytes(const std::string& text, const std::string& what);

}  // namespace graphd
