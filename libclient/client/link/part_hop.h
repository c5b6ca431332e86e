// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sampling/hop_picker.h"

namespace graphd {

// What one partition is asked in one hop, and its answer. Spans point into the caller's memory.
struct PartHop {
  struct Seeds {
    NodeTypeId ntype;
    int64_t type_count;  // nodes of the type in the graph: gives the width of ids
    PartSeeds nodes;     // with times of one kind at most
  };
  struct Pick {
    size_t seeds;  // index of the list
    PartPick pick;
    int64_t neighbor_count, edge_count;  // objects of the types
    SampledEdges<int64_t>* answer;
  };
  // A feature of the seeds from `begin` on: its row i goes to row to[i] of `out`.
  struct Rows {
    size_t seeds, begin;
    std::string name;
    size_t row_bytes;
    std::span<const int64_t> to;
    std::byte* out;
  };
  std::vector<Seeds> seeds;
  std::vector<Pick> picks;
  std::vector<Rows> rows;

  void Clear() {
    seeds.clear();
    picks.clear();
    rows.clear();
  }
  bool empty() const noexcept { return picks.empty() && rows.empty(); }
};

}  // namespace graphd
