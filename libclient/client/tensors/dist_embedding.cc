// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_embedding.h"

#include <utility>

#include "base/strings.h"
#include "base/threads/mutex.h"
#include "client/routing/check_ids.h"

namespace graphd {
namespace {

constexpr size_t kMaxSpareBytes = size_t{64} << 20;

TensorSpec EmbeddingSpec(const EmbeddingOptions& options) {
  if (options.dim <= 0) {
    Throw(ErrorCode::kInvalid, "embedding '", options.name, "' can't have ", options.dim,
          " values per row");
  }
  TensorSpec spec;
  spec.name = options.name;
  spec.persistent = options.persistent;
  spec.policy = options.policy;
  spec.type = options.type;
  spec.rows = options.num_embeddings;
  spec.row_shape = {options.dim};
  spec.initializer = options.initializer;
  spec.writers = options.writers;
  return spec;
}

}  // namespace

struct DistEmbedding::Pending {
  mutable Mutex mutex;
  Gradients gradients GRAPHD_GUARDED_BY(mutex);
  Gradients spare GRAPHD_GUARDED_BY(mutex);  // empty, but with allocated memory
};

std::span<const float> DistEmbedding::Gradients::all() const {
  return kept.num_elements() != 0 ? kept.as<float>() : std::span<const float>(values);
}

void DistEmbedding::Gradients::Clear() {
  ids.clear();
  values.clear();
  kept = {};
}

void DistEmbedding::Gradients::Append(std::span<const int64_t> more_ids,
                                      std::span<const float> more) {
  if (kept.num_elements() != 0) {
    const auto first = std::as_const(kept).as<float>();
    values.assign(first.begin(), first.end());
    kept = {};
  }
  ids.insert(ids.end(), more_ids.begin(), more_ids.end());
  values.insert(values.end(), more.begin(), more.end());
}

DistEmbedding::DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options)
    : weight_(DistTensor::Create(graph, EmbeddingSpec(options))),
      pending_(std::make_unique<Pending>()) {}

DistEmbedding::DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options,
                             const DistTensor::Fill& fill)
    : weight_(DistTensor::Create(graph, EmbeddingSpec(options), fill)),
      pending_(std::make_unique<Pending>()) {}

DistEmbedding::~DistEmbedding() = default;

void DistEmbedding::Check(std::span<const int64_t> ids, const Tensor& gradients) const {
  const std::vector<int64_t> wanted = {static_cast<int64_t>(ids.size()), dim()};
  if (gradients.dtype() != DType::kFloat32 || gradients.shape() != wanted) {
    Throw(ErrorCode::kInvalid, "gradients of embedding '", name(), "' must be float32 [",
          ids.size(), ", ", dim(), "] for ", ids.size(), " ids; got ", DTypeName(gradients.dtype()),
          " with ", gradients.num_elements(), " elements");
  }
  CheckIds(ids, num_embeddings(), "id");
}

DistEmbedding::Gradients& DistEmbedding::RoomFor(size_t bytes) const
    GRAPHD_REQUIRES(pending_->mutex) {
  Gradients& waiting = pending_->gradients;
  bytes += waiting.all().size_bytes();
  if (bytes > kMaxPendingBytes) {
    Throw(ErrorCode::kOverloaded, "gradients of embedding '", name(), "' for ", waiting.ids.size(),
          " rows wait for a step, and more would need ", HumanBytes(bytes),
          "; call Step or ZeroGrad");
  }
  return waiting;
}

void DistEmbedding::Backward(std::span<const int64_t> ids, const Tensor& gradients) {
  Check(ids, gradients);
  const MutexLock lock(pending_->mutex);
  RoomFor(gradients.num_bytes()).Append(ids, gradients.as<float>());
}

void DistEmbedding::Backward(std::span<const int64_t> ids, Tensor&& gradients) {
  Check(ids, gradients);
  const MutexLock lock(pending_->mutex);
  Gradients& waiting = RoomFor(gradients.num_bytes());
  if (!waiting.ids.empty()) return waiting.Append(ids, std::as_const(gradients).as<float>());
  waiting.ids.assign(ids.begin(), ids.end());
  waiting.kept = std::move(gradients);
}

void DistEmbedding::ZeroGrad() {
  const MutexLock lock(pending_->mutex);
  pending_->gradients.Clear();
}

size_t DistEmbedding::pending_rows() const {
  const MutexLock lock(pending_->mutex);
  return pending_->gradients.ids.size();
}

DistEmbedding::Gradients DistEmbedding::Take() {
  const MutexLock lock(pending_->mutex);
  return std::exchange(pending_->gradients, std::exchange(pending_->spare, {}));
}

void DistEmbedding::PutBack(Gradients gradients) {
  const MutexLock lock(pending_->mutex);
  Gradients& waiting = pending_->gradients;
  if (!waiting.ids.empty()) gradients.Append(waiting.ids, waiting.all());
  waiting = std::move(gradients);
}

void DistEmbedding::Recycle(Gradients gradients) {
  gradients.Clear();
  if (gradients.values.capacity() * sizeof(float) > kMaxSpareBytes) return;
  const MutexLock lock(pending_->mutex);
  pending_->spare = std::move(gradients);
}

}  // namespace graphd
