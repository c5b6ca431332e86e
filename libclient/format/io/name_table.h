// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/io/tensor_builder.h"

// The names of nodes and their dense ids: 0, 1, 2 ... in order of first appearance. Takes the bytes
// of the names and about 20 more for each name. Not thread-safe while names are added; otherwise,
// any number of threads may read.

namespace graphd {

class NameTable {
 public:
  size_t size() const noexcept { return ends_.num_elements(); }
  // Returns the id of `name`, adding the name if it is new.
  uint64_t Add(std::string_view name);
  std::optional<uint64_t> Find(std::string_view name) const noexcept;
  // Returns the name of an id. Requires id < size(). Valid until the next Add.
  std::string_view name(uint64_t id) const noexcept;

 private:
  size_t Slot(std::string_view name, uint64_t hash) const noexcept;
  void Grow();
  TensorBuilder text_{DType::kUInt8};
  TensorBuilder ends_{DType::kUInt64};  // the end of each name in text_
  // A hash table with open addressing: id + 1 in the lower 40 bits, bits of the hash above; 0 is
  // free.
  std::vector<uint64_t> slots_;
};

// Writes a gzip file with one name per line, the name of id i in line i. The file gets its name
// when it is complete and on the disk.
void WriteNames(const std::string& path, const NameTable& names);

}  // namespace graphd
