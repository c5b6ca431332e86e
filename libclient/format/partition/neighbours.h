// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/huge_array.h"
#include "format/input/raw_graph.h"
#include "format/io/spill_files.h"
#include "format/partition/neighbour_lists.h"
#include "format/partition/node_sequence.h"

namespace graphd {

// The neighbours of all nodes in both directions; repeated edges repeat them. Id is uint32_t or
// uint64_t. Immutable; safe to share between threads.
template <class Id>
class Neighbours {
 public:
  // With `spill`, the adjacency lists are kept in a file there, which is written through a buffer
  // of `memory` bytes: all edges are read each time the buffer is filled. Otherwise the lists are
  // in memory.
  Neighbours(const RawGraph& graph, const NodeSequence& sequence, SpillFiles* spill,
             uint64_t memory)
      : end_(sequence.size() + 1, 0) {
    sequence.ForEachPair(graph, [&](EdgeTypeId, size_t, uint64_t u, uint64_t v) {
      end_[u + 1]++;
      end_[v + 1]++;
    });
    for (size_t i = 0; i + 1 < end_.size(); i++) end_[i + 1] += end_[i];
    total_ = end_.back();
    // Now end_[i] is where the next neighbour of node i belongs.
    if (spill) {
      WriteLists(graph, sequence, *spill, std::max<uint64_t>(memory / sizeof(Id), 1));
    } else {
      memory_ = HugeArray<Id>(total_, "the neighbours of all nodes");
      sequence.ForEachPair(graph, [&](EdgeTypeId, size_t, uint64_t u, uint64_t v) {
        memory_[end_[u]++] = static_cast<Id>(v);
        memory_[end_[v]++] = static_cast<Id>(u);
      });
      ids_ = memory_.span();
    }
  }

  ~Neighbours() {
    if (!path_.empty()) ::unlink(path_.c_str());
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  size_t total() const noexcept { return total_; }
  // Returns a view of the lists, which is valid as long as this object exists. Requires 32-bit ids.
  NeighbourLists lists() const requires(std::is_same_v<Id, uint32_t>) {
    return {std::span(end_).first(end_.size() - 1), ids_, {}};
  }
  std::span<const Id> of(size_t node) const {
    const uint64_t begin = node ? end_[node - 1] : 0;
    return ids_.subspan(begin, end_[node] - begin);
  }

 private:
  // Writes the lists in the order of their nodes, piece by piece. A piece has the lists of as many
  // nodes as fit into the buffer, or a part of a list that is too long for it.
  void WriteLists(const RawGraph& graph, const NodeSequence& sequence, SpillFiles& spill,
                  uint64_t most) {
    path_ = spill.NewPath();
    SpillFile file(path_);
    const size_t nodes = sequence.size();
    HugeArray<Id> piece(std::min(most, total_), "the neighbours of some nodes");
    for (uint64_t first = 0; first < nodes;) {
      const uint64_t begin = file.size() / sizeof(Id);
      uint64_t last = first;  // the node behind the piece
      while (last < nodes && end_[last + 1] - begin <= piece.size()) last++;
      if (last > first) {
        FillPiece(graph, sequence, first, last - first,
                  [&](uint64_t node, Id neighbour) { piece[end_[node]++ - begin] = neighbour; });
        file.Append(std::as_bytes(piece.span().first(end_[last - 1] - begin)));
        first = last;
        continue;
      }
      // A list that exceeds the buffer is read several times, and a part of it is kept each time.
      const uint64_t list_end = end_[first + 1], list_begin = end_[first];
      for (uint64_t at = list_begin; at < list_end; at += piece.size()) {
        uint64_t seen = list_begin;
        FillPiece(graph, sequence, first, 1, [&](uint64_t, Id neighbour) {
          if (const uint64_t place = seen++ - at; place < piece.size()) piece[place] = neighbour;
        });
        file.Append(std::as_bytes(piece.span().first(std::min(piece.size(), list_end - at))));
      }
      end_[first++] = list_end;
    }
    file.Flush();
    lists_ = spill.Map({file.path(), 0}, DTypeOf<Id>(), {static_cast<int64_t>(total_)});
    ids_ = lists_.template as<Id>();
  }

  // Calls put(node, neighbour) for the neighbours of `count` nodes from `first` on.
  template <class F>
  static void FillPiece(const RawGraph& graph, const NodeSequence& sequence, uint64_t first,
                        uint64_t count, F&& put) {
    sequence.ForEachPair(graph, [&](EdgeTypeId, size_t, uint64_t u, uint64_t v) {
      if (u - first < count) put(u, static_cast<Id>(v));
      if (v - first < count) put(v, static_cast<Id>(u));
    });
  }

  std::vector<uint64_t> end_;  // by node; its list begins at the previous node's end
  uint64_t total_ = 0;
  HugeArray<Id> memory_;  // the lists, if they are in memory
  Tensor lists_;          // the lists, if they are in a file
  std::string path_;      // the path of the file, which is removed in the end
  std::span<const Id> ids_;
};

}  // namespace graphd
