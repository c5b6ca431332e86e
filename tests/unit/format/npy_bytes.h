// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/strings.h"

namespace graphd::testing {

// Returns a .npy file as NumPy writes it: `descr` such as "<i8", the extents, the elements.
template <class T>
std::string NpyBytes(const std::string& descr, const std::vector<int64_t>& shape,
                     const std::vector<T>& values, bool fortran_order = false) {
  std::string extents;
  for (int64_t extent : shape) extents += std::to_string(extent) + ", ";
  std::string header =
      StrCat("{'descr': '", descr, "', 'fortran_order': ", fortran_order ? "True" : "False",
             ", 'shape': (", extents, "), }");
  while ((header.size() + 11) % 64 != 0) header += ' ';
  header += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += {1, 0, static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  bytes += header;
  const auto raw = std::as_bytes(std::span(values));
  bytes.append(reinterpret_cast<const char*>(raw.data()), raw.size());
  return bytes;
}

}  // namespace graphd::testing
