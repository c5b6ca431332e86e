// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd::fuzz {

// Replaces the directory `to`, if it exists, by a copy of the directory `from`. Begins again when
// libFuzzer's timer has interrupted it.
void CopyFolder(const std::string& from, const std::string& to);

}  // namespace graphd::fuzz
