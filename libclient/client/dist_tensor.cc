// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_tensor.h"

#include "base/strings.h"
#include "client/tensor_source.h"

namespace graphd {

DistTensor::DistTensor(std::shared_ptr<TensorSource> source)
    : source_(std::move(source)), shape_(source_->spec().shape()) {}

const TensorSpec& DistTensor::spec() const noexcept { return source_->spec(); }

Tensor DistTensor::Read(std::span<const int64_t> ids) const {
  std::vector<int64_t> shape = shape_;
  shape[0] = static_cast<int64_t>(ids.size());
  Tensor rows = source_->access().NewTensor(dtype(), std::move(shape));
  source_->Read(ids, {rows.data(), rows.num_bytes()});
  return rows;
}

void DistTensor::ReadInto(std::span<const int64_t> ids, std::span<std::byte> out) const {
  if (out.size() != ids.size() * spec().row_bytes()) {
    Throw(ErrorCode::kInvalid, "output of ", out.size(), " bytes for ", ids.size(), " rows of ",
          spec().row_bytes());
  }
  source_->Read(ids, out);
}

Tensor DistTensor::Slice(int64_t begin, int64_t end) const {
  if (begin < 0 || end < begin || end > num_rows()) {
    Throw(ErrorCode::kInvalid, "rows [", begin, ", ", end, ") of '", name(), "' are outside 0..",
          num_rows());
  }
  std::vector<int64_t> shape = shape_;
  shape[0] = end - begin;
  Tensor rows = source_->access().NewTensor(dtype(), std::move(shape));
  source_->Slice(begin, end, {rows.data(), rows.num_bytes()});
  return rows;
}

}  // namespace graphd
