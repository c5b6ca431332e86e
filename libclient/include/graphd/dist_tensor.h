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

// Tensors whose rows are distributed over the partitions of a graph. Matches
// dgl.distributed.DistTensor. One class serves two kinds: features, which belong to the graph and
// are read-only; and tensors that trainers create, whose rows the daemons keep in memory and in
// RocksDB.

namespace graphd {
class TensorSource;  // Internal: the store of a tensor's rows.
}  // namespace graphd

namespace GRAPHD_EXPORT graphd {

class DistGraph;

// A handle of a distributed tensor. Copies are handles of the same tensor. Thread-safe.
//
// All functions that communicate throw Error(kUnavailable) if a daemon cannot be reached and
// Error(kDeadline) if it does not answer in time.
class DistTensor {
 public:
  // A function that sets the initial values of rows [begin, begin + n), where n is the first extent
  // of `rows`. It must set every element.
  using Fill = std::function<void(int64_t begin, Tensor& rows)>;

  // Opens the tensor of this name, or creates it. All trainers may call it at once: the first call
  // creates the tensor, and the other calls open it. The initialiser has no effect on an existing
  // tensor. Throws Error(kInvalid), which names the difference, if a tensor of this name has
  // another shape, dtype, policy or writers; Error(kOverloaded).
  static DistTensor Create(const DistGraph& graph, const TensorSpec& spec);
  // Does the same with initial values from a function of the caller. It is called slice by slice,
  // by ascending id, in the one process that creates the tensor; the others wait until this is
  // done, for at most one hour. If that process dies meanwhile, another one takes over. Matches
  // init_func.
  static DistTensor Create(const DistGraph& graph, const TensorSpec& spec, const Fill& fill);
  // Opens the persistent tensor of this name or, if there is none, this job's tensor of this name.
  // Throws Error(kNotFound), which lists the existing tensors.
  static DistTensor Open(const DistGraph& graph, const std::string& name);
  // Returns the tensors that this job can open: its own and the persistent ones.
  static std::vector<TensorInfo> List(const DistGraph& graph);
  // Deletes a tensor and its rows in all partitions permanently. Matches the destruction of a DGL
  // tensor that is not persistent, except that it is not a collective call. Throws Error(kDenied)
  // while another job has its lease.
  static void Drop(const DistGraph& graph, const std::string& name);

  // Returns the tensor's name.
  const std::string& name() const noexcept { return spec().name; }
  // Returns the tensor's description.
  const TensorSpec& spec() const noexcept;
  // Returns the element type.
  DType dtype() const noexcept { return spec().dtype; }
  // Returns the shape of the whole tensor: the number of rows of all partitions, then the
  // dimensions of a row.
  const std::vector<int64_t>& shape() const noexcept { return shape_; }
  // Returns the number of rows of all partitions.
  int64_t num_rows() const noexcept { return shape_[0]; }
  // Returns whether the rows belong to edges.
  bool is_edge() const noexcept { return spec().policy == TensorPolicy::kEdge; }
  // Returns the node or edge type id that the rows belong to; meaningless with policy kRange.
  int32_t type() const noexcept { return spec().type; }
  // Returns whether the tensor is a feature of the graph. Write, Add, Acquire and Release of a
  // feature throw Error(kDenied).
  bool is_feature() const noexcept;

  // Returns rows in the order of `ids`, shape [ids.size(), dimensions of a row ...]; duplicates are
  // allowed. Matches t[ids]. No row is read half written, but while rows are being changed, one
  // call may read some rows from before a change and others from after it. A process reads its own
  // writes. Throws Error(kInvalid), which names the id, on an id out of range, Error(kCorrupt) for
  // rows whose page is damaged, and Error(kNotFound) if the tensor was dropped more than one second
  // ago; until then, it may throw or still return rows.
  Tensor Read(std::span<const int64_t> ids) const;
  // Reads rows into `out`, of ids.size() * row_bytes bytes, for example a pinned buffer.
  void ReadInto(std::span<const int64_t> ids, std::span<std::byte> out) const;
  // Stores in the row cache of this machine (Options::row_cache) those of the given rows of a
  // feature that other machines have, and keeps them there as long as the cache exists, whatever
  // else is read. They form the static part of the cache; the rest of the cache holds rows that
  // were read recently. Good choices are the nodes of highest out-degree, as in PaGraph (Lin et
  // al., SoCC 2020), and the nodes that some batches have sampled most often, as in GNNLab (Yang et
  // al., EuroSys 2022). At most three quarters of the feature's memory in the cache hold kept rows;
  // if that is not enough, the first of `ids` are kept. The first call takes memory for its rows
  // from the memory that no other feature has taken, and later calls can only use the memory that
  // the feature has then. All trainers of the machine may call this function. If a trainer is
  // killed in the middle of a change of the cache, a few rows may be lost. Returns how many of the
  // rows are kept. Rows that this machine has itself do not count, and without a cache the result
  // is 0. Throws Error(kInvalid) for a tensor that is not a feature, and on an id out of range.
  int64_t KeepCached(std::span<const int64_t> ids) const;
  // Returns rows [begin, end). Matches t[begin:end].
  Tensor Slice(int64_t begin, int64_t end) const;

  // Sets t[ids] = rows; of duplicate ids the last one counts. Returns when the rows are visible to
  // everyone and as durable as the daemons are configured (--durability). Calls with more than 32
  // MiB for one partition are applied in pieces. Throws Error(kInvalid) unless `rows` has the shape
  // [ids.size(), dimensions of a row ...] and the dtype of the tensor, Error(kDenied) for features
  // and, naming the job, if another job has the lease. Otherwise it throws as Read does. After
  // Error(kDeadline) or Error(kUnavailable) the rows may or may not be applied. After any other
  // error no row, or only some of the pieces, are applied.
  void Write(std::span<const int64_t> ids, const Tensor& rows) const;
  // Adds t[ids] += rows, once for every occurrence of an id. Each row is updated atomically:
  // concurrent additions are never lost. Throws as Write does, and Error(kInvalid) for bool,
  // float16 and bfloat16.
  void Add(std::span<const int64_t> ids, const Tensor& rows) const;

  // Takes this job's lease, the right to write a tensor of TensorWriters::kExclusive. Write and Add
  // take it automatically; it ends with the job. After a server has restarted, the job keeps its
  // lease if it attaches again within five seconds, which trainers do automatically. Throws
  // Error(kDenied), which names the job that has the lease.
  void Acquire() const;
  // Gives the lease back. Throws as Acquire does.
  void Release() const;

  // Internal: the store of the rows, and a handle of such a store.
  const std::shared_ptr<TensorSource>& source() const noexcept { return source_; }
  explicit DistTensor(std::shared_ptr<TensorSource> source);

 private:
  void CheckRows(std::span<const int64_t> ids, const Tensor& rows) const;
  std::shared_ptr<TensorSource> source_;
  std::vector<int64_t> shape_;
};

}  // namespace graphd
