// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/arrow/c_abi.h"

// A producer of the C stream interface, whose structs can be valid or wrong in any way.

namespace graphd::testing {

// A column of a batch. A buffer without a value is a null pointer.
struct ArrowSpec {
  std::string format, name;
  int64_t length = 0;
  std::vector<std::optional<std::string>> buffers;
  std::vector<ArrowSpec> children = {};
  std::shared_ptr<ArrowSpec> dictionary = nullptr;
  int64_t offset = 0, null_count = -1;
};

// Returns the bytes of values.
template <class T>
std::string BytesOf(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

// Returns a column of numbers without nulls.
template <class T>
ArrowSpec Numbers(std::string format, std::string name, std::initializer_list<T> values) {
  return {std::move(format),
          std::move(name),
          static_cast<int64_t>(values.size()),
          {std::nullopt, BytesOf(values)}};
}
// Returns a column of texts with 32-bit offsets and without nulls.
ArrowSpec Texts(std::string name, const std::vector<std::string>& texts);
// Returns a batch of rows.
ArrowSpec Rows(std::vector<ArrowSpec> columns);

// The number of structs that are not released.
inline int live_arrow_structs = 0;

// Returns a stream of batches, of which the first also determines the schema. With `error`, reading
// behind the last batch fails with that message.
ArrowArrayStream StreamOf(std::vector<ArrowSpec> batches, std::string error = "");

}  // namespace graphd::testing
