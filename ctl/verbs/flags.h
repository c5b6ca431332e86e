// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd::ctl {

// Returns "--num_parts,--num-parts": DGL's name with underscores and the same name with dashes.
std::string Flags(const std::string& name_with_underscores);

}  // namespace graphd::ctl
