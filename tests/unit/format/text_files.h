// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "scratch_directory.h"

// Small files for tests. Each makes the directories it needs; failures throw.

namespace graphd::testing {

void WriteText(const std::string& path, const std::string& text);
void WriteGzip(const std::string& path, const std::string& text);
std::string ReadBytes(const std::string& path);

}  // namespace graphd::testing
