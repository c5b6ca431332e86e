// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_tensor.h"

#include "base/strings.h"
#include "client/tensors/open_table.h"
#include "client/tensors/tensor_source.h"
#include "graph/array_shape.h"
#include "graphd/dist_graph.h"

namespace graphd {

DistTensor::DistTensor(std::shared_ptr<TensorSource> source)
    : source_(std::move(source)), shape_(source_->spec().shape()) {}

DistTensor DistTensor::Create(const DistGraph& graph, const TensorSpec& spec) {
  return DistTensor(CreateTable(graph.access(), spec));
}
DistTensor DistTensor::Create(const DistGraph& graph, const TensorSpec& spec, const Fill& fill) {
  return DistTensor(CreateTable(graph.access(), spec, &fill));
}
DistTensor DistTensor::Open(const DistGraph& graph, const std::string& name) {
  return DistTensor(OpenTable(graph.access(), name));
}
std::vector<TensorInfo> DistTensor::List(const DistGraph& graph) {
  return ListTables(*graph.access());
}
void DistTensor::Drop(const DistGraph& graph, const std::string& name) {
  DropTable(*graph.access(), name);
}

const TensorSpec& DistTensor::spec() const noexcept { return source_->spec(); }
bool DistTensor::is_feature() const noexcept { return source_->is_feature(); }

void DistTensor::Write(std::span<const int64_t> ids, const Tensor& rows) const {
  CheckRows(ids, rows);
  source_->Write(UpdateKind::kSet, ids, {rows.data(), rows.num_bytes()});
}

void DistTensor::Add(std::span<const int64_t> ids, const Tensor& rows) const {
  CheckRows(ids, rows);
  source_->Write(UpdateKind::kAdd, ids, {rows.data(), rows.num_bytes()});
}

void DistTensor::CheckRows(std::span<const int64_t> ids, const Tensor& rows) const {
  std::vector<int64_t> wanted = shape_;
  wanted[0] = static_cast<int64_t>(ids.size());
  if (rows.dtype() != dtype() || rows.shape() != wanted) {
    Throw(ErrorCode::kInvalid, "rows of ", DTypeName(rows.dtype()), " ", ShapeText(rows.shape()),
          " for ", ids.size(), " ids of tensor '", name(), "'; it takes ", DTypeName(dtype()), " ",
          ShapeText(wanted));
  }
}

void DistTensor::Acquire() const { source_->Acquire(); }
void DistTensor::Release() const { source_->Release(); }

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

int64_t DistTensor::KeepCached(std::span<const int64_t> ids) const {
  return source_->KeepCached(ids);
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
