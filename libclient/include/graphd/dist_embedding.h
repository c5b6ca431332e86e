// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graphd/dist_tensor.h"
#include "graphd/export.h"

// Tables of learnable vectors, with one vector per node, per edge or per number of a range. The
// daemons store their rows. Matches dgl.distributed.DistEmbedding: the forward pass gathers rows,
// the backward pass collects the gradients of these rows, and an optimiser of graphd/sparse_optim.h
// applies the gradients in the daemons.
//
//   DistEmbedding emb(graph, {.name = "user", .dim = 64, .type = user_type});
//   SparseAdagrad optimizer({&emb}, {.lr = 0.05F});
//   ...
//   Tensor rows = emb.Forward(batch.input_nodes(user_type));     // float32 [n, 64]
//   emb.Backward(batch.input_nodes(user_type), gradients);       // float32 [n, 64]
//   optimizer.Step();

namespace GRAPHD_EXPORT graphd {

// The settings of a DistEmbedding.
struct EmbeddingOptions {
  std::string name;  // see TensorSpec::name
  int64_t dim = 0;   // elements per vector, at least 1
  TensorPolicy policy = TensorPolicy::kNode;
  int32_t type = 0;             // id of the node type (kNode) or edge type (kEdge)
  int64_t num_embeddings = -1;  // kRange: number of vectors; -1: as many as the type has
  Initializer initializer = Initializer::Uniform(-1, 1);
  // Whether the vectors outlive the job. (DGL's embeddings end with their server.)
  bool persistent = true;
  TensorWriters writers = TensorWriters::kExclusive;
};

// A distributed table of learnable float32 vectors, [num_embeddings, dim], with the gradients that
// wait for an optimiser's step. Not copyable, because it owns these gradients. Thread-safe.
class DistEmbedding {
 public:
  // Opens the table or creates it, like DistTensor::Create, and throws the same errors.
  DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options);
  // Does the same with initial values from a function of the caller.
  DistEmbedding(const DistGraph& graph, const EmbeddingOptions& options,
                const DistTensor::Fill& fill);
  ~DistEmbedding();
  DistEmbedding(const DistEmbedding&) = delete;
  DistEmbedding& operator=(const DistEmbedding&) = delete;

  // Returns the table's name.
  const std::string& name() const noexcept { return weight_.name(); }
  // Returns the number of vectors, of all partitions.
  int64_t num_embeddings() const noexcept { return weight_.num_rows(); }
  // Returns the number of elements per vector.
  int64_t dim() const noexcept { return weight_.shape()[1]; }
  // Returns the table as a tensor. Matches DistEmbedding.weight.
  const DistTensor& weight() const noexcept { return weight_; }

  // Returns the vectors of `ids`, float32 [ids.size(), dim]. Duplicates are allowed. Matches
  // emb(ids). Throws as DistTensor::Read does.
  Tensor Forward(std::span<const int64_t> ids) const { return weight_.Read(ids); }

  // Adds the gradient of the result of Forward(ids), float32 [ids.size(), dim], to the gradients
  // that wait for the next Step or ZeroGrad of an optimiser. Several calls accumulate, as torch's
  // backward does. Throws Error(kInvalid) on another shape or dtype and on an id out of range, and
  // Error(kOverloaded) if more than kMaxPendingBytes would wait, probably because the caller forgot
  // to call Step.
  void Backward(std::span<const int64_t> ids, const Tensor& gradients);
  // Does the same without a copy. The embedding keeps the memory of `gradients` until the gradients
  // are applied; the caller must not write to this memory any more.
  void Backward(std::span<const int64_t> ids, Tensor&& gradients);
  // The maximum size in bytes of the gradients that wait.
  static constexpr size_t kMaxPendingBytes = size_t{2} << 30;

  // Drops the gradients that wait. Matches reset_trace.
  void ZeroGrad();
  // Returns the number of rows of gradients that wait, duplicates included.
  size_t pending_rows() const;

  // Internal: gradients in the order of the calls of Backward. Take() leaves none waiting.
  struct Gradients {
    std::vector<int64_t> ids;
    Tensor kept;                // the values, if they come from one call that did not copy
    std::vector<float> values;  // the values, otherwise

    std::span<const float> all() const;
    void Clear();
    void Append(std::span<const int64_t> more_ids, std::span<const float> more);
  };
  Gradients Take();
  // Gives back gradients that could not be sent, and puts them before the gradients that were added
  // since.
  void PutBack(Gradients gradients);
  // Gives back gradients that were sent, so that their memory is reused; otherwise every step would
  // allocate memory.
  void Recycle(Gradients gradients);

 private:
  struct Pending;
  void Check(std::span<const int64_t> ids, const Tensor& gradients) const;
  // Returns the gradients to which `bytes` more bytes are to be appended. The lock of `pending_`
  // must be held.
  Gradients& RoomFor(size_t bytes) const;
  DistTensor weight_;
  std::unique_ptr<Pending> pending_;
};

}  // namespace graphd
