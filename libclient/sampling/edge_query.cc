// SPDX-License-Identifier: Apache-2.0
#include "sampling/edge_query.h"

#include <algorithm>
#include <bit>

#include "base/check.h"
#include "base/prefetch.h"
#include "base/rng.h"
#include "base/strings.h"

namespace graphd {
namespace {

// The neighbours of one row, in ascending order. Positions count in this order.
template <class Index>
class SortedRow {
 public:
  SortedRow(const Csc& csc, std::span<const Index> indices, const SortedIndex* sorted, int64_t row)
      : indices_(indices.data()), sorted_(sorted) {
    if (row < 0) return;
    begin_ = csc.indptr[static_cast<size_t>(row)];
    degree_ = csc.indptr[static_cast<size_t>(row) + 1] - begin_;
  }
  uint64_t degree() const { return degree_; }
  uint64_t slot(uint64_t at) const {
    return begin_ + (sorted_ ? sorted_->relative(begin_ + at) : at);
  }
  Index neighbor(uint64_t at) const { return indices_[slot(at)]; }
  // Returns the first position at or after `low` whose neighbour is at least `wanted`.
  uint64_t LowerBound(uint64_t low, uint64_t wanted) const {
    uint64_t high = degree_;
    while (low < high) {
      const uint64_t middle = low + (high - low) / 2;
      if (neighbor(middle) < wanted) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

 private:
  const Index* indices_;
  const SortedIndex* sorted_;
  uint64_t begin_ = 0, degree_ = 0;
};

// A hash table that finds the position of a member by its id.
class MemberTable {
 public:
  explicit MemberTable(std::span<const int64_t> members)
      : slots_(std::bit_ceil(std::max<size_t>(members.size(), 4) * 2)) {
    for (size_t i = 0; i < members.size(); i++) {
      size_t at = Home(static_cast<uint64_t>(members[i]));
      while (slots_[at].id != kFree) at = (at + 1) & (slots_.size() - 1);
      slots_[at] = {static_cast<uint64_t>(members[i]), static_cast<uint32_t>(i)};
    }
  }
  // Returns the member's position, or -1 if `id` is not a member.
  int64_t Find(uint64_t id) const {
    for (size_t at = Home(id);; at = (at + 1) & (slots_.size() - 1)) {
      if (slots_[at].id == id) return slots_[at].position;
      if (slots_[at].id == kFree) return -1;
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t id = kFree;
    uint32_t position = 0;
  };
  size_t Home(uint64_t id) const { return Mix64(id) & (slots_.size() - 1); }
  std::vector<Slot> slots_;
};

void PrefetchRow(const Csc& csc, std::span<const int64_t> rows, size_t i) {
  if (i + kPrefetchAhead < rows.size() && rows[i + kPrefetchAhead] >= 0) {
    __builtin_prefetch(csc.indptr.data() + rows[i + kPrefetchAhead]);
  }
}

}  // namespace

void Degrees(const Csc& csc, std::span<const int64_t> rows, std::span<int64_t> degrees) noexcept {
  const uint64_t* indptr = csc.indptr.data();
  for (size_t i = 0; i < rows.size(); i++) {
    PrefetchRow(csc, rows, i);
    degrees[i] = rows[i] < 0 ? 0 : static_cast<int64_t>(indptr[rows[i] + 1] - indptr[rows[i]]);
  }
}

void FindEdges(const Csc& csc, const InverseIndex* inverse, std::span<const int64_t> edge_rows,
               std::span<int64_t> neighbors, std::span<int64_t> rows) noexcept {
  GRAPHD_CHECK(inverse || !csc.edge_rows, "an inverse index comes with edge rows");
  csc.indices.Visit([&](auto indices) {
    for (size_t i = 0; i < edge_rows.size(); i++) {
      const auto edge = static_cast<uint64_t>(edge_rows[i]);
      const uint64_t slot = inverse ? inverse->slot(edge) : edge;
      neighbors[i] = static_cast<int64_t>(indices[slot]);
      // The edge is in the last row that begins at or before the slot. Rows without edges may begin
      // at the same slot, but come before that row.
      const auto after = std::upper_bound(csc.indptr.begin(), csc.indptr.end(), slot);
      rows[i] = after - csc.indptr.begin() - 1;
    }
  });
}

void HasEdges(const Csc& csc, const SortedIndex* sorted, std::span<const int64_t> rows,
              std::span<const int64_t> neighbors, std::span<uint8_t> found) noexcept {
  csc.indices.Visit([&](auto indices) {
    for (size_t i = 0; i < rows.size(); i++) {
      PrefetchRow(csc, rows, i);
      const SortedRow row(csc, indices, sorted, rows[i]);
      const auto wanted = static_cast<uint64_t>(neighbors[i]);
      const uint64_t at = row.LowerBound(0, wanted);
      found[i] = at < row.degree() && row.neighbor(at) == wanted;
    }
  });
}

void FindInducedEdges(const Csc& csc, const SortedIndex* sorted, std::span<const int64_t> rows,
                      std::span<const int64_t> members, InducedEdges& edges, size_t max_edges) {
  GRAPHD_CHECK(members.size() <= UINT32_MAX, "positions of members fit 32 bits");
  const MemberTable table(members);
  edges.counts.assign(rows.size(), 0);
  edges.positions.clear();
  edges.slots.clear();
  const auto add = [&](uint64_t position, uint64_t slot) {
    edges.positions.push_back(static_cast<uint32_t>(position));
    edges.slots.push_back(slot);
  };
  csc.indices.Visit([&](auto indices) {
    for (size_t i = 0; i < rows.size(); i++) {
      PrefetchRow(csc, rows, i);
      const size_t before = edges.slots.size();
      const SortedRow row(csc, indices, sorted, rows[i]);
      if (members.size() * static_cast<size_t>(std::bit_width(row.degree())) < row.degree()) {
        uint64_t at = 0;
        for (size_t m = 0; m < members.size(); m++) {
          const auto wanted = static_cast<uint64_t>(members[m]);
          at = row.LowerBound(at, wanted);
          for (; at < row.degree() && row.neighbor(at) == wanted; at++) add(m, row.slot(at));
        }
      } else {
        for (uint64_t at = 0; at < row.degree(); at++) {
          const uint64_t slot = row.slot(at);
          const int64_t position = table.Find(indices[slot]);
          if (position >= 0) add(static_cast<uint64_t>(position), slot);
        }
      }
      edges.counts[i] = static_cast<uint32_t>(edges.slots.size() - before);
      if (edges.slots.size() > max_edges) {
        Throw(ErrorCode::kOverloaded, "the first ", i + 1, " nodes have ", edges.slots.size(),
              " edges to members, at most ", max_edges,
              " are returned at once; ask for fewer nodes");
      }
    }
  });
}

}  // namespace graphd
