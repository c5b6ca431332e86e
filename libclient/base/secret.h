// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd {

// Returns 32 random bytes from the kernel as 64 hexadecimal digits. Throws Error(kIo) if the kernel
// provides none.
std::string NewSecret();

// Compares secrets in a time that depends on nothing but their lengths.
bool EqualSecrets(const std::string& a, const std::string& b);

}  // namespace graphd
