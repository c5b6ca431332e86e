// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "daemon/requests/answer_writer.h"
#include "daemon/requests/compute_pool.h"
#include "daemon/requests/wire_ids.h"
#include "sampling/hop_picker.h"
#include "sampling/index/edge_indexes.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// One hop request, which is checked and copied out of the message, then run in slices by any
// threads, then assembled to an answer. Slices touch disjoint parts, so nothing is locked. Shared
// by the call and the slices that still run.
class HopJob {
 public:
  // The largest number of lists of one kind in a request.
  static constexpr size_t kMaxLists = 1024;
  // Seeds per slice, which is one turn on the compute pool.
  static constexpr size_t kSliceSeeds = 4096;
  static constexpr size_t kSliceRowBytes = size_t{1} << 20;

  // Throws Error(kInvalid), Error(kNotFound), Error(kOverloaded).
  HopJob(std::shared_ptr<const Partition> partition, std::shared_ptr<EdgeIndexes> indexes,
         std::shared_ptr<BufferPool> buffers, wire::Session::HopParams::Reader params);

  // Returns the derived arrays that the sampling rules need and that are not built yet.
  std::vector<EdgeIndexSpec> MissingIndexes() const;
  // The bytes touched, roughly; SIZE_MAX if that is known only afterwards.
  size_t work() const noexcept { return work_; }
  size_t num_slices() const noexcept { return slices_.size(); }
  void RunSlice(size_t slice, WorkerScratch& scratch);

  // The size of the answer without the arrays that are sent by reference; for its first segment.
  capnp::MessageSize message_size() const;
  // Requires: every slice has run.
  void Write(wire::Session::HopResults::Builder results, const AnswerWriter::Send& send);

  uint64_t edges() const noexcept { return edges_; }
  uint64_t rows() const noexcept { return num_rows_; }
  size_t row_bytes() const noexcept { return row_bytes_; }
  // An upper bound of what Write() sends. Requires: every slice has run.
  size_t answer_bytes() const noexcept { return answer_bytes_ + row_bytes_; }

 private:
  struct SeedList {
    NodeTypeId ntype;
    WireIds ids;
    std::vector<uint32_t> streams;
    std::vector<uint64_t> times;  // bit patterns of int64 or double
  };
  struct PickWork {
    size_t seeds;
    SamplingRule pick;
    uint64_t key;
    bool edge_ids, narrow;
    std::vector<int64_t> exclude;
    size_t edge_width, first_slice, num_slices;
  };
  struct RowWork {
    size_t seeds, begin;
    const Tensor* table;
    PooledBuffer out;
    size_t bytes;
  };
  struct Slice {
    bool is_rows;
    size_t work, begin, end;  // index of the PickWork or RowWork; seeds
    SampledEdges<uint32_t> narrow;
    SampledEdges<uint64_t> wide;
  };
  void ReadSeeds(wire::Session::HopParams::Reader params);
  void ReadPicks(wire::Session::HopParams::Reader params);
  void ReadRows(wire::Session::HopParams::Reader params);
  template <class Id>
  void RunPick(Slice& slice, SampledEdges<Id>& out, WorkerScratch& scratch);
  void RunRows(const Slice& slice, WorkerScratch& scratch);
  template <class Id>
  void WritePick(const PickWork& work, SampledEdges<Id> Slice::*picked, wire::Sampled::Builder out,
                 const AnswerWriter::Send& send);

  std::shared_ptr<const Partition> partition_;
  std::shared_ptr<EdgeIndexes> indexes_;
  std::shared_ptr<BufferPool> buffers_;
  std::vector<SeedList> seeds_;
  std::vector<PickWork> picks_;
  std::vector<RowWork> rows_;
  std::vector<Slice> slices_;
  size_t work_ = 0, row_bytes_ = 0, num_rows_ = 0;
  uint64_t edges_ = 0;
  std::atomic<size_t> answer_bytes_{0};
};

}  // namespace graphd
