// SPDX-License-Identifier: Apache-2.0
#include "graphd/dist_embedding.h"

#include <mutex>
#include <utility>

#include "base/strings.h"
#include "client/check_ids.h"

namespace graphd {
namespace {

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
  mutable std::mutex mutex;
  Gradients gradients;  // guarded by mutex
};

DistEmbedding::DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options)
    : weight_(DistTensor::Create(graph, EmbeddingSpec(options))),
      pending_(std::make_unique<Pending>()) {}

DistEmbedding::DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options,
                             const DistTensor::Fill& fill)
    : weight_(DistTensor::Create(graph, EmbeddingSpec(options), fill)),
      pending_(std::make_unique<Pending>()) {}

DistEmbedding::~DistEmbedding() = default;

void DistEmbedding::Backward(std::span<const int64_t> ids, const Tensor& gradients) {
  const std::vector<int64_t> wanted = {static_cast<int64_t>(ids.size()), dim()};
  if (gradients.dtype() != DType::kFloat32 || gradients.shape() != wanted) {
    Throw(ErrorCode::kInvalid, "gradients of embedding '", name(), "' must be float32 [",
          ids.size(), ", ", dim(), "] for ", ids.size(), " ids; got ", DTypeName(gradients.dtype()),
          " with ", gradients.num_elements(), " elements");
  }
  CheckIds(ids, num_embeddings(), "id");
  const std::span<const float> values = gradients.as<float>();
  std::lock_guard lock(pending_->mutex);
  Gradients& waiting = pending_->gradients;
  const size_t bytes = (waiting.values.size() + values.size()) * sizeof(float);
  if (bytes > kMaxPendingBytes) {
    Throw(ErrorCode::kOverloaded, "gradients of embedding '", name(), "' for ", waiting.ids.size(),
          " rows wait for a step, and more would need ", HumanBytes(bytes),
          "; call Step or ZeroGrad");
  }
  waiting.ids.insert(waiting.ids.end(), ids.begin(), ids.end());
  waiting.values.insert(waiting.values.end(), values.begin(), values.end());
}

void DistEmbedding::ZeroGrad() { Take(); }

size_t DistEmbedding::pending_rows() const {
  std::lock_guard lock(pending_->mutex);
  return pending_->gradients.ids.size();
}

DistEmbedding::Gradients DistEmbedding::Take() {
  std::lock_guard lock(pending_->mutex);
  return std::exchange(pending_->gradients, {});
}

void DistEmbedding::PutBack(Gradients gradients) {
  std::lock_guard lock(pending_->mutex);
  Gradients& waiting = pending_->gradients;
  gradients.ids.insert(gradients.ids.end(), waiting.ids.begin(), waiting.ids.end());
  gradients.values.insert(gradients.values.end(), waiting.values.begin(), waiting.values.end());
  waiting = std::move(gradients);
}

}  // namespace graphd
