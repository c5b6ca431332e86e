// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/graph/sent_rows.h"
#include "daemon/requests/answer_writer.h"
#include "daemon/requests/compute_pool.h"
#include "daemon/requests/wire_ids.h"
#include "sampling/hop_sampler.h"
#include "sampling/index/edge_indexes.h"
#include "wire/graphd.capnp.h"

namespace graphd {

// A hop request of a client, which samples neighbours of seeds and reads features. The constructor
// checks it and copies it out of the message, any number of threads execute its slices, and Write
// assembles the answer. Slices touch disjoint data, so nothing is locked.
class HopJob {
 public:
  // The maximum number of seed lists and of rules in one request.
  static constexpr size_t kMaxLists = 1024;
  // The size of a slice, which is the work done in one turn on the compute pool: about this many
  // sampled edges within these numbers of seeds, or bytes of rows. It takes about 0.2 ms.
  static constexpr size_t kSliceEdges = 8192;
  static constexpr size_t kMinSliceSeeds = 128;
  static constexpr size_t kMaxSliceSeeds = 4096;
  // Slices are larger if the request would have more than this many.
  static constexpr size_t kMaxSlices = 16384;
  static constexpr size_t kSliceRowBytes = size_t{1} << 20;

  // Checks and copies the request. Throws Error(kInvalid), Error(kNotFound) or Error(kOverloaded).
  HopJob(std::shared_ptr<const Partition> partition, std::shared_ptr<EdgeIndexes> indexes,
         std::shared_ptr<BufferPool> buffers, wire::Session::HopParams::Reader params);

  // Returns the number of excluded edges, in all rules.
  size_t num_excluded() const noexcept { return num_excluded_; }
  // Checks the edges that a rule excludes, and converts them to the form that the sampling kernels
  // use. Called once for each rule, by any thread, before any slice runs; not needed if
  // num_excluded() is 0. Throws Error(kInvalid).
  void PrepareExcluded(size_t rule);
  // Returns the specifications of the indexes that the rules need and that are not built yet.
  std::vector<EdgeIndexSpec> MissingIndexes() const;
  // Returns roughly how many bytes the job will read and write; SIZE_MAX if that is not known in
  // advance.
  size_t work() const noexcept { return work_; }
  size_t num_slices() const noexcept { return slices_.size(); }
  void RunSlice(size_t slice, WorkerScratch& scratch);

  // Returns the size of the answer's first segment, which has all data that is not sent by
  // reference.
  capnp::MessageSize message_size() const;
  // Joins the edges that all slices have sampled for a rule into the arrays of the answer. This
  // takes long if they are large, so it is called once for each of the num_rules() rules, by any
  // thread. Requires: every slice has run.
  size_t num_rules() const noexcept { return rules_.size(); }
  void Join(size_t rule);
  // Writes the answer. Requires: Join() has been called for every rule.
  void Write(wire::Session::HopResults::Builder results, const AnswerWriter::Send& send);

  uint64_t edges() const noexcept { return edges_; }
  uint64_t rows() const noexcept { return num_rows_; }
  size_t row_bytes() const noexcept { return row_bytes_; }
  // Returns how many bytes Join() copies in all. Requires: every slice has run.
  size_t sampled_bytes() const noexcept { return answer_bytes_; }
  // Returns an upper bound of the number of bytes that Write() sends. Requires: every slice has
  // run.
  size_t answer_bytes() const noexcept { return answer_bytes_ + row_bytes_; }

 private:
  struct SeedWork {
    NodeTypeId ntype;
    WireIds ids;
    std::vector<uint32_t> streams;
    std::vector<uint64_t> times;  // bit patterns of int64 or double
  };
  // The arrays of a rule's answer.
  struct Joined {
    uint8_t count_width;
    AnswerWriter counts, neighbors, ids, arrivals;
  };
  struct RuleWork {
    AppliedRule applied;  // its `exclude` is the list below
    WireIds excluded;     // the ids that the client has sent
    std::vector<int64_t> exclude;
    bool narrow;  // neighbours have 32-bit ids
    size_t edge_width, first_slice, num_slices;
    std::optional<Joined> joined;
  };
  struct RowWork {
    size_t seeds, begin;
    SentRows table;
    PooledBuffer out;
    size_t bytes;
  };
  struct Slice {
    bool is_rows;
    size_t work, begin, end;  // index of the RuleWork or RowWork; seeds
    SampledEdges<uint32_t> narrow;
    SampledEdges<uint64_t> wide;
    MemoryCharge charge;  // for the sampled edges
  };
  void AddSeeds(wire::Session::HopParams::Reader params);
  void AddRules(wire::Session::HopParams::Reader params);
  void AddRows(wire::Session::HopParams::Reader params);
  template <class Id>
  void RunRule(Slice& slice, SampledEdges<Id>& out, WorkerScratch& scratch);
  void RunRows(const Slice& slice, WorkerScratch& scratch);
  template <class Id>
  void JoinSlices(RuleWork& work, SampledEdges<Id> Slice::*sampled);

  std::shared_ptr<const Partition> partition_;
  std::shared_ptr<EdgeIndexes> indexes_;
  std::shared_ptr<BufferPool> buffers_;
  MemoryCharge copies_;  // for the data that is copied out of the message, and slices
  std::vector<SeedWork> seeds_;
  std::vector<RuleWork> rules_;
  std::vector<RowWork> rows_;
  std::vector<Slice> slices_;
  bool encoded_ = false;  // rows are sent as they are stored
  size_t num_excluded_ = 0;
  size_t work_ = 0, row_bytes_ = 0, num_rows_ = 0;
  std::atomic<uint64_t> edges_ = 0;
  std::atomic<size_t> answer_bytes_{0};
};

}  // namespace graphd
