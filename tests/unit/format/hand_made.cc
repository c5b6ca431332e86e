// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/format/hand_made.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "base/strings.h"
#include "graph/id_json.h"
#include "tests/unit/format/fixture_files.h"

namespace graphd::test {
namespace {

using Range = IdMap::Range;

// Returns ranges[t][p] for sizes[t][p].
IdMap Map(const char* what, const std::vector<std::vector<int64_t>>& sizes) {
  std::vector<std::vector<Range>> ranges(sizes.size(), std::vector<Range>(sizes[0].size()));
  int64_t next = 0;
  for (size_t p = 0; p < sizes[0].size(); p++) {
    for (size_t t = 0; t < sizes.size(); t++) {
      ranges[t][p] = {next, next + sizes[t][p]};
      next += sizes[t][p];
    }
  }
  return IdMap::FromRanges(what, std::move(ranges));
}

template <class T>
std::vector<T> Permuted(const std::vector<T>& values, const std::vector<size_t>& order) {
  std::vector<T> out;
  for (size_t i : order) out.push_back(values[i]);
  return out;
}

std::vector<size_t> Order(size_t count, bool shuffled, uint64_t seed) {
  std::vector<size_t> order(count);
  for (size_t i = 0; i < count; i++) order[i] = i;
  std::mt19937_64 random(seed);
  if (shuffled) std::shuffle(order.begin(), order.end(), random);
  return order;
}

std::vector<int64_t> Ids(const std::vector<Column>& columns) {
  for (const Column& column : columns) {
    if (column.name != "_ID") continue;
    std::vector<int64_t> ids(static_cast<size_t>(column.shape[0]));
    if (!ids.empty()) std::memcpy(ids.data(), column.bytes.data(), column.bytes.size());
    return ids;
  }
  return {};
}

// Returns the type-wise ids of `type` that `part` owns, in the order of the file.
std::vector<int64_t> OwnedInFileOrder(const IdMap& map, PartId part, int32_t type,
                                      const std::vector<int64_t>& ids) {
  std::vector<int64_t> owned;
  for (int64_t h : ids) {
    const auto [t, x] = map.ToTyped(h);
    if (t == type && map.OwnerOfHomo(h) == part) owned.push_back(x);
  }
  return owned;
}

}  // namespace

HandMade::HandMade(std::vector<std::vector<int64_t>> sizes, int64_t edges, uint64_t seed)
    : sizes_(std::move(sizes)), seed_(seed) {
  meta_.graph_name = "hand";
  meta_.part_method = "random";
  meta_.schema = Schema({"a", "b"}, {{"a", "to", "b"}, {"b", "back", "a"}, {"a", "self", "a"}});
  const IdMap nodes = Map("node", sizes_);
  std::mt19937_64 random(seed);
  const auto parts = static_cast<size_t>(nodes.num_parts());
  std::vector<std::vector<int64_t>> edge_sizes(3, std::vector<int64_t>(parts, 0));
  std::vector<int64_t> next_id(3, 0);
  for (PartId p = 0; p < nodes.num_parts(); p++) {
    for (EdgeTypeId e = 0; e < 3; e++) {
      const NodeTypeId src = meta_.schema.src_type(e), dst = meta_.schema.dst_type(e);
      const int64_t dst_count = nodes.count_in(p, dst);
      if (dst_count == 0 || nodes.count(src) == 0) continue;
      const auto type = static_cast<size_t>(e);
      for (int64_t i = 0; i < edges; i++) {
        const auto any = [&](int64_t n) {
          return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
        };
        edges_.push_back({e, any(nodes.count(src)), nodes.FromLocalRow(p, dst, any(dst_count)),
                          next_id[type]++, p});
        edge_sizes[type][static_cast<size_t>(p)]++;
      }
    }
  }
  meta_.book = PartitionBook(nodes, Map("edge", edge_sizes));
}

GraphFile HandMade::Graph(PartId part, bool shuffled) const {
  const IdMap& nodes = meta_.book.nodes();
  const IdMap& edge_map = meta_.book.edges();
  std::vector<int64_t> node_ids, edge_ids, src, dst;
  std::map<int64_t, int64_t> local;
  const auto add = [&](int64_t h) {
    const auto [at, is_new] = local.emplace(h, static_cast<int64_t>(node_ids.size()));
    if (is_new) node_ids.push_back(h);
    return at->second;
  };
  for (int64_t h = 0; h < nodes.total(); h++) {
    if (nodes.OwnerOfHomo(h) == part) add(h);
  }
  for (const bool owned : {true, false}) {
    for (const Edge& edge : edges_) {
      const int64_t s = nodes.ToHomo(meta_.schema.src_type(edge.etype), edge.src);
      const int64_t d = nodes.ToHomo(meta_.schema.dst_type(edge.etype), edge.dst);
      if ((edge.owner == part) != owned || (!owned && nodes.OwnerOfHomo(s) != part)) continue;
      src.push_back(add(s));
      dst.push_back(add(d));
      edge_ids.push_back(edge_map.ToHomo(edge.etype, edge.id));
    }
  }
  const std::vector<size_t> node_order = Order(node_ids.size(), shuffled, seed_ + 1);
  const std::vector<size_t> edge_order = Order(edge_ids.size(), shuffled, seed_ + 2);
  std::vector<int64_t> moved(node_ids.size());
  for (size_t i = 0; i < node_order.size(); i++) moved[node_order[i]] = static_cast<int64_t>(i);

  GraphFile file;
  file.num_nodes = static_cast<int64_t>(node_ids.size());
  for (size_t edge : edge_order) {
    file.src.push_back(moved[static_cast<size_t>(src[edge])]);
    file.dst.push_back(moved[static_cast<size_t>(dst[edge])]);
  }
  const auto columns = [&](const IdMap& map, const std::vector<int64_t>& ids, const char* inner) {
    std::vector<uint8_t> flags;
    std::vector<int32_t> types;
    for (int64_t h : ids) {
      flags.push_back(map.OwnerOfHomo(h) == part);
      types.push_back(map.ToTyped(h).first);
    }
    return std::vector<Column>{MakeColumn("_TYPE", types), MakeColumn(inner, flags),
                               MakeColumn("_ID", ids)};
  };
  file.node_data = columns(nodes, Permuted(node_ids, node_order), "inner_node");
  file.edge_data = columns(edge_map, Permuted(edge_ids, edge_order), "inner_edge");
  return file;
}

std::vector<Column> HandMade::NodeFeatures(PartId part, const GraphFile& graph) const {
  std::vector<Column> columns;
  for (NodeTypeId t = 0; t < 2; t++) {
    const auto ids = OwnedInFileOrder(meta_.book.nodes(), part, t, Ids(graph.node_data));
    std::vector<uint16_t> brain;
    for (int64_t x : ids) brain.insert(brain.end(), {static_cast<uint16_t>(x), 0x3f80});
    columns.push_back(MakeColumn(meta_.schema.ntype(t) + "/id", ids));
    columns.push_back(MakeColumn(meta_.schema.ntype(t) + "/b", brain, {2}));
    columns.back().dtype = DType::kBFloat16;
  }
  return columns;
}

std::vector<Column> HandMade::EdgeFeatures(PartId part, const GraphFile& graph) const {
  std::vector<Column> columns;
  for (EdgeTypeId e = 0; e < 3; e++) {
    const auto ids = OwnedInFileOrder(meta_.book.edges(), part, e, Ids(graph.edge_data));
    std::vector<uint8_t> flags;
    for (int64_t x : ids) flags.push_back(x % 2 == 1);
    columns.push_back(MakeColumn(meta_.schema.etype(e).ToString() + "/id", ids));
    columns.push_back(MakeColumn(meta_.schema.etype(e).ToString() + "/flag", flags));
  }
  return columns;
}

std::string HandMade::PartConfigJson() const {
  nlohmann::json root{{"graph_name", "hand"},
                      {"num_parts", meta_.book.num_partitions()},
                      {"num_nodes", meta_.book.nodes().total()},
                      {"num_edges", meta_.book.edges().total()},
                      {"part_method", "random"},
                      {"halo_hops", 1}};
  const auto ranges = [&](const IdMap& map, int32_t type) {
    nlohmann::json list = nlohmann::json::array();
    for (const Range& range : map.ranges()[static_cast<size_t>(type)]) {
      list.push_back({range.begin, range.end});
    }
    return list;
  };
  for (NodeTypeId t = 0; t < 2; t++) {
    root["ntypes"][meta_.schema.ntype(t)] = t;
    root["node_map"][meta_.schema.ntype(t)] = ranges(meta_.book.nodes(), t);
  }
  for (EdgeTypeId e = 0; e < 3; e++) {
    root["etypes"][meta_.schema.etype(e).ToString()] = e;
    root["edge_map"][meta_.schema.etype(e).ToString()] = ranges(meta_.book.edges(), e);
  }
  for (PartId p = 0; p < meta_.book.num_partitions(); p++) {
    root[StrCat("part-", p)] = {{"part_graph", StrCat("part", p, "/graph.dgl")},
                                {"node_feats", StrCat("part", p, "/node_feat.dgl")},
                                {"edge_feats", StrCat("part", p, "/edge_feat.dgl")}};
  }
  return root.dump(1);
}

void HandMade::Write(const std::string& folder, int formats, bool narrow, bool shuffled) const {
  WriteAll(folder + "/hand.json", PartConfigJson());
  for (PartId p = 0; p < meta_.book.num_partitions(); p++) {
    GraphFile graph = Graph(p, shuffled);
    graph.formats = formats;
    graph.narrow = narrow;
    const std::string part = StrCat(folder, "/part", p, "/");
    WriteAll(part + "graph.dgl", EncodeGraph(graph));
    WriteAll(part + "node_feat.dgl", EncodeDict(NodeFeatures(p, graph)));
    WriteAll(part + "edge_feat.dgl", EncodeDict(EdgeFeatures(p, graph)));
  }
}

std::string HandMade::Check(const Partition& partition) const {
  using Triple =
      std::tuple<EdgeTypeId, int64_t, int64_t, int64_t>;  // type, destination, source, id
  std::multiset<Triple> known, read;
  for (const Edge& edge : edges_) {
    if (edge.owner == partition.id()) known.emplace(edge.etype, edge.dst, edge.src, edge.id);
  }
  for (EdgeTypeId e = 0; e < 3; e++) {
    const Csc& csc = partition.csc(e);
    const Tensor ids = partition.edge_feature(e, "id").ReadAll();
    const Tensor flags = partition.edge_feature(e, "flag").ReadAll();
    for (size_t row = 0; row + 1 < csc.indptr.size(); row++) {
      const int64_t dst = meta_.book.nodes().FromLocalRow(partition.id(), meta_.schema.dst_type(e),
                                                          static_cast<int64_t>(row));
      for (uint64_t at = csc.indptr[row]; at < csc.indptr[row + 1]; at++) {
        const uint64_t edge_row = csc.edge_rows ? (*csc.edge_rows)[at] : at;
        const int64_t id =
            meta_.book.edges().FromLocalRow(partition.id(), e, static_cast<int64_t>(edge_row));
        read.emplace(e, dst, static_cast<int64_t>(csc.indices[at]), id);
        if (ids.as<int64_t>()[edge_row] != id || flags.as<uint8_t>()[edge_row] != id % 2) {
          return StrCat("features of edge ", id, " of type ", e);
        }
      }
    }
  }
  if (known != read) return StrCat(read.size(), " edges, ", known.size(), " were written");
  for (NodeTypeId t = 0; t < 2; t++) {
    const Tensor ids = partition.node_feature(t, "id").ReadAll();
    const Tensor brain = partition.node_feature(t, "b").ReadAll();
    if (brain.dtype() != DType::kBFloat16) return "dtype of b";
    for (int64_t row = 0; row < partition.num_inner_nodes(t); row++) {
      const int64_t x = meta_.book.nodes().FromLocalRow(partition.id(), t, row);
      uint16_t low;
      std::memcpy(&low, brain.data() + row * 4, 2);
      if (ids.as<int64_t>()[static_cast<size_t>(row)] != x || low != static_cast<uint16_t>(x)) {
        return StrCat("features of node ", x, " of type ", t);
      }
    }
  }
  return "";
}

}  // namespace graphd::test
