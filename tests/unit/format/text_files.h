// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "scratch_directory.h"

// Functions for small test files. The writers create missing directories; failures throw.

namespace graphd::testing {

void WriteText(const std::string& path, const std::string& text);
void WriteGzip(const std::string& path, const std::string& text);
std::string ReadBytes(const std::string& path);

}  // namespace graphd::testing
