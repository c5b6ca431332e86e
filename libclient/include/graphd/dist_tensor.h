// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "graphd/export.h"
#include "graphd/tensor.h"
#include "graphd/tensor_spec.h"

// Tensors whose rows lie with the partitions of a graph. Matches dgl.distributed.DistTensor. Two
// kinds share this class: features, which came with the graph and can't be changed; and tensors
// that trainers make, whose rows live in the daemons and, beyond memory, in RocksDB.

namespace graphd {
class TensorSource;  // Internal: where rows come from.
}  // namespace graphd

namespace GRAPHD_EXPORT graphd {

class DistGraph;

// Copies are handles. Thread-safe.
class DistTensor {
 public:
  // First values of the rows with ids [begin, begin + n), n being the first extent of `rows`, which
  // has to be filled.
  using Fill = std::function<void(int64_t begin, Tensor& rows)>;

  // Opens the tensor of this name, or makes it. All trainers may call it at once: the first one
  // makes it; in one that exists, the initialiser changes nothing. Throws Error(kInvalid), saying
  // what differs, if there is one of another shape, dtype, policy or writers; Error(kUnavailable),
  // Error(kDeadline), Error(kOverloaded).
  static DistTensor Create(const DistGraph& graph, const TensorSpec& spec);
  // The same with first values by a function of the caller's, which is called slice by slice, in
  // ascending order of ids, in the one process that makes the tensor; the others wait until it is
  // done, for an hour at most. If that process dies meanwhile, another one takes its place. Matches
  // init_func.
  static DistTensor Create(const DistGraph& graph, const TensorSpec& spec, const Fill& fill);
  // The persistent tensor of this name, or else this job's. Throws Error(kNotFound) naming those
  // there are.
  static DistTensor Open(const DistGraph& graph, const std::string& name);
  // What there is for this job: its own tensors and the persistent ones.
  static std::vector<TensorInfo> List(const DistGraph& graph);
  // The rows of all partitions are gone for good. Matches the end of a DGL tensor that is not
  // persistent, but is no collective. Throws Error(kDenied) while another job may write it.
  static void Drop(const DistGraph& graph, const std::string& name);

  const std::string& name() const noexcept { return spec().name; }
  const TensorSpec& spec() const noexcept;
  DType dtype() const noexcept { return spec().dtype; }
  // The whole tensor's shape: rows of all partitions, then the row's extents.
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  int64_t num_rows() const noexcept { return shape_[0]; }
  // Whether it belongs to edges, and to which node or edge type; meaningless for kRange.
  bool is_edge() const noexcept { return spec().policy == TensorPolicy::kEdge; }
  int32_t type() const noexcept { return spec().type; }
  // Whether it came with the graph: then Write, Add, Acquire and Release throw Error(kDenied).
  bool is_feature() const noexcept;

  // Rows by id, in the order of `ids`, duplicates allowed: shape [ids.size(), ...]. Matches t[ids].
  // No row is ever seen half written; rows of one call may be of different ages. Sees this
  // process's own writes. Throws Error(kInvalid) with the offending id, Error(kUnavailable),
  // Error(kDeadline), Error(kCorrupt) for rows whose page is damaged, Error(kNotFound) no later
  // than a second after the tensor was dropped.
  Tensor Read(std::span<const int64_t> ids) const;
  // Same, into `out` (ids.size() * row bytes), e.g. a pinned buffer.
  void ReadInto(std::span<const int64_t> ids, std::span<std::byte> out) const;
  // Rows [begin, end). Matches t[begin:end].
  Tensor Slice(int64_t begin, int64_t end) const;

  // t[ids] = rows, the last of duplicate ids. Returns when all is as durable as the daemons are
  // configured (--durability), and visible to everyone. Calls with more than 32 MiB for a partition
  // are applied in pieces. Throws Error(kInvalid) unless `rows` has ids.size() rows of this dtype
  // and shape; Error(kDenied) for features, and naming the job that has the lease; otherwise as
  // Read does. After Error(kDeadline) or Error(kUnavailable) it is not known whether it was
  // applied; in any other case, nothing was (or, in pieces, some pieces).
  void Write(std::span<const int64_t> ids, const Tensor& rows) const;
  // t[ids] += rows, every one of duplicate ids. Each row is changed at once and none is lost,
  // whoever adds at the same time. Not for bool, float16 and bfloat16. Otherwise as Write.
  void Add(std::span<const int64_t> ids, const Tensor& rows) const;

  // Takes, or gives back, this job's right to write a tensor of TensorWriters::kExclusive; Write
  // and Add take it by themselves, and it ends with the job. A server that starts again leaves the
  // job five seconds to attach, which trainers do by themselves. Throws Error(kDenied) naming the
  // job that has it.
  void Acquire() const;
  void Release() const;

  // Internal.
  const std::shared_ptr<TensorSource>& source() const noexcept { return source_; }
  explicit DistTensor(std::shared_ptr<TensorSource> source);

 private:
  void CheckRows(std::span<const int64_t> ids, const Tensor& rows) const;
  std::shared_ptr<TensorSource> source_;
  std::vector<int64_t> shape_;
};

}  // namespace graphd
