// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/io/tensor_builder.h"

// Names of nodes and the dense ids that stand for them: 0, 1, 2 ... in the order in which the names
// were first seen. Costs the bytes of the names and about 20 more for each. One thread writes, any
// number read.

namespace graphd {

class NameTable {
 public:
  size_t size() const noexcept { return ends_.num_elements(); }
  // The id of `name`, which is added if it is new.
  uint64_t Add(std::string_view name);
  std::optional<uint64_t> Find(std::string_view name) const noexcept;
  // Requires id < size(). Valid until the next Add.
  std::string_view name(uint64_t id) const noexcept;

 private:
  size_t Slot(std::string_view name, uint64_t hash) const noexcept;
  void Grow();
  TensorBuilder text_{DType::kUInt8};
  TensorBuilder ends_{DType::kUInt64};  // of each name in text_
  // Open addressing: id + 1 in the lower 40 bits, bits of the hash above; 0 is free.
  std::vector<uint64_t> slots_;
};

// A gzip file with one name a line, line i that of id i. Appears under its name when it is whole
// and on the disk.
void WriteNames(const std::string& path, const NameTable& names);

}  // namespace graphd
