// SPDX-License-Identifier: Apache-2.0
#include "client/routing/edge_queries.h"

#include <algorithm>
#include <numeric>

#include "base/index.h"
#include "base/strings.h"
#include "client/link/edge_calls.h"
#include "client/routing/graph_access.h"
#include "sampling/edge_query.h"
#include "sampling/slots.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

void CheckAnswerLength(size_t got, size_t expected, const char* what) {
  if (got != expected) Throw(ErrorCode::kInvalid, got, " ", what, ", expected ", expected);
}

template <class T>
void Place(std::span<const T> values, std::span<const int64_t> positions, std::span<T> out) {
  for (size_t i = 0; i < values.size(); i++) out[Index(positions[i])] = values[i];
}

// The answer of one partition, which is kept until all answers are put into the order of the ids.
struct PartAnswer {
  std::vector<int64_t> a, b;
  std::vector<uint8_t> found;
};

}  // namespace

EdgeWidths EdgeQueries::Widths(EdgeTypeId etype) const {
  const Schema& schema = access_.meta().schema;
  const PartitionBook& book = access_.meta().book;
  return {IdBytes(book.nodes().count(schema.src_type(etype))),
          IdBytes(book.nodes().count(schema.dst_type(etype))), IdBytes(book.edges().count(etype))};
}

void EdgeQueries::FindEdges(EdgeTypeId etype, std::span<const int64_t> ids, std::span<int64_t> src,
                            std::span<int64_t> dst) const {
  access_.CheckEtype(etype);
  CheckAnswerLength(src.size(), ids.size(), "places for sources");
  CheckAnswerLength(dst.size(), ids.size(), "places for destinations");
  const Schema& schema = access_.meta().schema;
  const EdgeMap& edges = access_.meta().book.edges();
  const NodeMap& nodes = access_.meta().book.nodes();
  OwnerSplit split;
  split.Assign({edges, etype}, ids, "edge");
  std::vector<PartAnswer> answers(split.parts.size());
  for (size_t p = 0; p < answers.size(); p++) {
    answers[p].a.resize(split.parts[p].ids.size());
    answers[p].b.resize(split.parts[p].ids.size());
  }
  access_.ForParts(
      split,
      [&](PartId p, const OwnerSplit::Part& some) {
        PartAnswer& to = answers[Index(p)];
        return StartFindEdges(
            access_.link(p), p, etype, Widths(etype), nodes.count(schema.src_type(etype)),
            nodes.count(schema.dst_type(etype)), some.ids, to.a.data(), to.b.data());
      },
      [&](PartId p, const OwnerSplit::Part& some) {
        PartAnswer& to = answers[Index(p)];
        std::vector<int64_t> rows;
        LocalRows({edges, etype}, p, some.ids, rows);
        graphd::FindEdges(access_.mapped(p)->csc(etype), access_.indexes(p).Inverse(etype).get(),
                          rows, to.a, to.b);
        for (int64_t& row : to.b) row = nodes.FromLocalRow(p, schema.dst_type(etype), row);
        access_.CountMapped(p, {.calls = 1});
      });
  for (size_t p = 0; p < answers.size(); p++) {
    Place<int64_t>(answers[p].a, split.parts[p].positions, src);
    Place<int64_t>(answers[p].b, split.parts[p].positions, dst);
  }
}

void EdgeQueries::HasEdges(EdgeTypeId etype, std::span<const int64_t> src,
                           std::span<const int64_t> dst, std::span<uint8_t> found) const {
  access_.CheckEtype(etype);
  CheckAnswerLength(dst.size(), src.size(), "destinations");
  CheckAnswerLength(found.size(), src.size(), "places for answers");
  const NodeMap& nodes = access_.meta().book.nodes();
  const NodeTypeId src_type = access_.meta().schema.src_type(etype);
  const NodeTypeId dst_type = access_.meta().schema.dst_type(etype);
  const int64_t sources = nodes.count(src_type);
  for (size_t i = 0; i < src.size(); i++) {
    if (src[i] >= 0 && src[i] < sources) continue;
    Throw(ErrorCode::kInvalid, "source ", src[i], " at position ", i, " is outside 0..",
          sources - 1);
  }
  OwnerSplit split;
  split.Assign({nodes, dst_type}, dst, "destination");
  std::vector<PartAnswer> answers(split.parts.size());
  for (size_t p = 0; p < answers.size(); p++) {
    answers[p].found.resize(split.parts[p].ids.size());
    for (int64_t at : split.parts[p].positions) answers[p].a.push_back(src[Index(at)]);
  }
  access_.ForParts(
      split,
      [&](PartId p, const OwnerSplit::Part& some) {
        PartAnswer& to = answers[Index(p)];
        return StartHasEdges(access_.link(p), p, etype, Widths(etype), to.a, some.ids,
                             to.found.data());
      },
      [&](PartId p, const OwnerSplit::Part& some) {
        PartAnswer& to = answers[Index(p)];
        std::vector<int64_t> rows;
        LocalRows({nodes, dst_type}, p, some.ids, rows);
        graphd::HasEdges(access_.mapped(p)->csc(etype), access_.indexes(p).Sorted(etype).get(),
                         rows, to.a, to.found);
        access_.CountMapped(p, {.calls = 1});
      });
  for (size_t p = 0; p < answers.size(); p++) {
    Place<uint8_t>(answers[p].found, split.parts[p].positions, found);
  }
}

void EdgeQueries::Degrees(EdgeTypeId etype, Direction direction, std::span<const int64_t> ids,
                          std::span<int64_t> degrees) const {
  access_.CheckEtype(etype);
  CheckAnswerLength(degrees.size(), ids.size(), "places for degrees");
  const bool out = direction == Direction::kOut;
  const Schema& schema = access_.meta().schema;
  const NodeTypeId type = out ? schema.src_type(etype) : schema.dst_type(etype);
  const NodeMap& nodes = access_.meta().book.nodes();
  OwnerSplit split;
  split.Assign({nodes, type}, ids, "node");
  if (out) {  // every partition may have out-edges of a node
    split.parts.assign(Index(access_.num_parts()), {{ids.begin(), ids.end()}, {}});
  }
  std::vector<PartAnswer> answers(split.parts.size());
  for (size_t p = 0; p < answers.size(); p++) answers[p].a.resize(split.parts[p].ids.size());
  access_.ForParts(
      split,
      [&](PartId p, const OwnerSplit::Part& some) {
        return StartDegrees(access_.link(p), p, etype, out, IdBytes(nodes.count(type)), some.ids,
                            answers[Index(p)].a.data());
      },
      [&](PartId p, const OwnerSplit::Part& some) {
        std::vector<int64_t> rows(some.ids.size());
        if (out) {
          access_.indexes(p).Out(etype)->RowsOf(some.ids, rows);
        } else {
          LocalRows({nodes, type}, p, some.ids, rows);
        }
        graphd::Degrees(*access_.indexes(p).Rows(etype, out), rows, answers[Index(p)].a);
        access_.CountMapped(p, {.calls = 1});
      });
  std::fill(degrees.begin(), degrees.end(), 0);
  for (size_t p = 0; p < answers.size(); p++) {
    for (size_t i = 0; i < answers[p].a.size(); i++) {
      degrees[out ? i : Index(split.parts[p].positions[i])] += answers[p].a[i];
    }
  }
}

void EdgeQueries::Induced(EdgeTypeId etype, std::span<const int64_t> seeds,
                          std::span<const int64_t> members, std::vector<int64_t>& indptr,
                          std::vector<int64_t>& indices, std::vector<int64_t>& edge_ids) const {
  access_.CheckEtype(etype);
  const NodeMap& nodes = access_.meta().book.nodes();
  const int64_t sources = nodes.count(access_.meta().schema.src_type(etype));
  for (size_t i = 0; i < members.size(); i++) {
    const bool in_range = members[i] >= 0 && members[i] < sources;
    if (in_range && (i == 0 || members[i - 1] < members[i])) continue;
    Throw(ErrorCode::kInvalid, "member ", members[i], " at position ", i,
          in_range ? " does not ascend" : StrCat(" is outside 0..", sources - 1));
  }
  const NodeTypeId type = access_.meta().schema.dst_type(etype);
  OwnerSplit split;
  split.Assign({nodes, type}, seeds, "node");
  std::vector<InducedPart> answers(split.parts.size());
  access_.ForParts(
      split,
      [&](PartId p, const OwnerSplit::Part& some) {
        return StartInduced(access_.link(p), p, etype, Widths(etype), some.ids, members,
                            &answers[Index(p)]);
      },
      [&](PartId p, const OwnerSplit::Part& some) {
        std::vector<int64_t> rows;
        LocalRows({nodes, type}, p, some.ids, rows);
        InducedEdges edges;
        const Partition& partition = *access_.mapped(p);
        FindInducedEdges(partition.csc(etype), access_.indexes(p).Sorted(etype).get(), rows,
                         members, edges);
        InducedPart& to = answers[Index(p)];
        to.counts = std::move(edges.counts);
        to.indices = std::move(edges.positions);
        to.edge_ids.resize(edges.slots.size());
        WriteEdgeIds(partition, etype, partition.csc(etype), edges.slots, to.edge_ids.data());
        access_.CountMapped(p, {.calls = 1});
      });
  struct Cursor {
    size_t seed = 0, edge = 0;
  };
  std::vector<Cursor> cursors(answers.size());
  indptr.assign(1, 0);
  indices.clear();
  edge_ids.clear();
  for (PartId owner : split.owners) {
    const InducedPart& from = answers[Index(owner)];
    Cursor& cursor = cursors[Index(owner)];
    const size_t end = cursor.edge + from.counts[cursor.seed++];
    for (; cursor.edge < end; cursor.edge++) {
      indices.push_back(from.indices[cursor.edge]);
      edge_ids.push_back(from.edge_ids[cursor.edge]);
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
}

}  // namespace graphd
