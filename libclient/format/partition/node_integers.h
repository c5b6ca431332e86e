// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace graphd {

// Reads an integer for each of `nodes` nodes, in the order of their ids: from a text file, plain or
// gzip-compressed, with one number per line, or from an .npy of integers if the file's name says
// so. Throws Error(kNotFound), or Error(kCorrupt) naming file, line (or element) and value if a
// number is outside min..max or if the number of integers differs from `nodes`; `what` names the
// integers ("partition").
std::vector<int64_t> ReadNodeIntegers(const std::string& path, int64_t nodes, int64_t min,
                                      int64_t max, const std::string& what);

}  // namespace graphd
