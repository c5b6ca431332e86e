// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graphd/dist_tensor.h"
#include "graphd/export.h"

// Learnable vectors, one per node (or edge, or anything counted), that lie with the daemons.
// Matches dgl.distributed.DistEmbedding: a forward pass gathers rows, the backward pass hands their
// gradients over, an optimiser of graphd/sparse_optim.h applies them where the rows lie.
//
//   DistEmbedding emb(graph, {.name = "user", .dim = 64, .type = user_type});
//   SparseAdagrad optimizer({&emb}, {.lr = 0.05F});
//   ...
//   Tensor rows = emb.Forward(batch.input_nodes(user_type));     // float32 [n, 64]
//   emb.Backward(batch.input_nodes(user_type), gradients);       // float32 [n, 64]
//   optimizer.Step();

namespace GRAPHD_EXPORT graphd {

struct EmbeddingOptions {
  std::string name;
  int64_t dim = 0;
  TensorPolicy policy = TensorPolicy::kNode;
  int32_t type = 0;
  int64_t num_embeddings = -1;  // kRange: how many; otherwise as many as the type has
  Initializer initializer = Initializer::Uniform(-1, 1);
  // The server keeps it: DGL's embeddings end with their server, ours need a word to.
  bool persistent = true;
  TensorWriters writers = TensorWriters::kExclusive;
};

// Not copyable: gradients that wait for a step are its own. Forward and Backward may be called from
// several threads.
class DistEmbedding {
 public:
  // Makes or opens it, as DistTensor::Create. Throws the same.
  DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options);
  // With the caller's first values.
  DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options,
                const DistTensor::Fill& fill);
  ~DistEmbedding();
  DistEmbedding(const DistEmbedding&) = delete;
  DistEmbedding& operator=(const DistEmbedding&) = delete;

  const std::string& name() const noexcept { return weight_.name(); }
  int64_t num_embeddings() const noexcept { return weight_.num_rows(); }
  int64_t dim() const noexcept { return weight_.shape()[1]; }
  // The rows as a tensor. Matches DistEmbedding.weight.
  const DistTensor& weight() const noexcept { return weight_; }

  // float32 [ids.size(), dim]. Matches emb(ids).
  Tensor Forward(std::span<const int64_t> ids) const { return weight_.Read(ids); }

  // Takes the gradient of what Forward(ids) returned, float32 [ids.size(), dim], and keeps it until
  // an optimiser's Step or ZeroGrad. Further calls add to it, as torch's backward does. Throws
  // Error(kInvalid) on another shape or dtype or an id out of range, Error(kOverloaded) beyond
  // kMaxPendingBytes: then Step was forgotten.
  void Backward(std::span<const int64_t> ids, const Tensor& gradients);
  // The same without a copy: the tensor's memory is kept until the gradients are applied, and must
  // not be written to any more.
  void Backward(std::span<const int64_t> ids, Tensor&& gradients);
  static constexpr size_t kMaxPendingBytes = size_t{2} << 30;

  // Gradients that wait. Matches reset_trace.
  void ZeroGrad();
  size_t pending_rows() const;

  // Internal: what waits, in the order of Backward's calls; nothing waits afterwards.
  struct Gradients {
    std::vector<int64_t> ids;
    Tensor kept;                // the values, if they are one call's that were not copied
    std::vector<float> values;  // otherwise

    std::span<const float> all() const;
    void Clear();
    void Append(std::span<const int64_t> more_ids, std::span<const float> more);
  };
  Gradients Take();
  // Puts back what could not be sent, before what came meanwhile.
  void PutBack(Gradients gradients);
  // What was sent: its memory serves the next ones, or every step would take new pages.
  void Recycle(Gradients gradients);

 private:
  struct Pending;
  void Check(std::span<const int64_t> ids, const Tensor& gradients) const;
  // Where gradients of so many bytes wait. With the lock of `pending_`.
  Gradients& RoomFor(size_t bytes) const;
  DistTensor weight_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace graphd
