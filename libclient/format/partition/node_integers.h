// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace graphd {

// An integer for each of `nodes` nodes, in the order of their ids: from a text file, plain or
// gzip-compressed, with one number a line, or from an .npy of integers, by the file's name. Throws
// Error(kNotFound), or Error(kCorrupt) naming file and line (or element) and value if a number is
// outside min..max or there are more or fewer than nodes; `what` names the numbers ("partition").
std::vector<int64_t> ReadNodeIntegers(const std::string& path, int64_t nodes, int64_t min,
                                      int64_t max, const std::string& what);

}  // namespace graphd
