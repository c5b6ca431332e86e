// SPDX-License-Identifier: Apache-2.0
#include "ctl/statistics/stored_array.h"

#include <utility>

#include "base/strings.h"

namespace graphd::ctl {

StoredArray::StoredArray(ArraySpec spec, std::string path, std::shared_ptr<const UniqueFd> file)
    : spec_(std::move(spec)), path_(std::move(path)), file_(std::move(file)) {}

StoredArray::StoredArray(ArraySpec spec, std::string path, Tensor values)
    : spec_(std::move(spec)), path_(std::move(path)), values_(std::move(values)) {}

std::span<const std::byte> StoredArray::Read(uint64_t begin, size_t count,
                                             std::vector<std::byte>& buffer) const {
  const size_t width = DTypeSize(spec_.dtype());
  if (!file_) {
    return {std::as_const(values_).data() + begin * width, count * width};
  }
  buffer.resize(count * width);
  ReadExactly(file_->get(), spec_.offset + begin * width, buffer, path_);
  return buffer;
}

std::string StoredArray::At(uint64_t element) const {
  return StrCat(path_, ": array '", spec_.name, "', element ", element);
}

}  // namespace graphd::ctl
