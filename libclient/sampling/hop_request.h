// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graphd/sampling_rule.h"
#include "sampling/sampled_edges.h"

namespace graphd {

// The seeds of one node type. They may have integer times or floating-point times, but not both.
struct SeedList {
  NodeTypeId ntype = 0;
  HopSeeds nodes;
};

// A sampling rule, applied to one seed list of a request.
struct AppliedRule {
  SamplingRule rule;
  size_t seeds = 0;                       // index of the list in HopRequest::seeds
  uint64_t key = 0;                       // SampleKey
  bool edge_ids = false;                  // also return the ids of the sampled edges
  std::span<const int64_t> exclude = {};  // type-wise ids of the partition's own edges, ascending
};

// A node feature whose rows are returned with a hop, for the seeds of a list from `begin` on.
struct SeedRows {
  size_t seeds = 0;  // index of the list in HopRequest::seeds
  size_t begin = 0;
  std::string name;
};

// The request for one hop to one partition. Spans point into the caller's memory.
struct HopRequest {
  std::vector<SeedList> seeds;
  std::vector<AppliedRule> rules;
  std::vector<SeedRows> rows;

  void Clear() {
    seeds.clear();
    rules.clear();
    rows.clear();
  }
  bool empty() const noexcept { return rules.empty() && rows.empty(); }
};

// The places where a partition's answer to a HopRequest is written.
struct HopAnswer {
  // Row i of the answer goes to row to[i] of `out`.
  struct Rows {
    std::span<const int64_t> to;
    std::byte* out;
    size_t row_bytes;
  };
  std::vector<SampledEdges<int64_t>*> samples;  // one for each element of HopRequest::rules
  std::vector<Rows> rows;                       // one for each element of HopRequest::rows

  void Clear() {
    samples.clear();
    rows.clear();
  }
};

}  // namespace graphd
