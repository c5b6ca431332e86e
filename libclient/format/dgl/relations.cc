// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/relations.h"

#include "base/file.h"
#include "format/dgl/edges.h"
#include "format/dgl/owned.h"

namespace graphd {
namespace {

int64_t IdAt(const DglArray& column, size_t i) {
  return VisitIntegers(column.dtype, column.data,
                       [&](auto ids) { return static_cast<int64_t>(ids[i]); });
}

}  // namespace

void DeriveRelationEnds(const std::string& graph_path, const PartitionBook& book, PartId part,
                        std::vector<std::optional<RelationEnds>>& ends) {
  const MappedFile file(graph_path);
  const DglGraph graph = ReadDglGraph(ByteReader(file.bytes(), graph_path));
  const DglEdges edges(graph, graph_path);
  const DglArray& node_ids = DglIdColumn({"node", graph_path, graph.node_data, ""}, "_ID");
  const DglArray& edge_ids = DglIdColumn({"edge", graph_path, graph.edge_data, ""}, "_ID");

  const auto type_of = [&](const IdMap& map, const DglArray& ids, uint64_t i) {
    const int64_t id = i < static_cast<uint64_t>(ids.num_elements()) ? IdAt(ids, i) : -1;
    if (id < 0 || id >= map.total()) {
      Throw(ErrorCode::kCorrupt, graph_path, ", offset ", ids.offset, ": column _ID, row ", i,
            ": no id in 0..", map.total() - 1);
    }
    return map.ToTyped(id).first;
  };
  const auto look_at = [&](size_t edge) {
    auto& entry = ends[static_cast<size_t>(type_of(book.edges(), edge_ids, edge))];
    if (entry) return;
    edges.Visit([&](auto src, auto dst) {
      entry = RelationEnds{type_of(book.nodes(), node_ids, static_cast<uint64_t>(src[edge])),
                           type_of(book.nodes(), node_ids, static_cast<uint64_t>(dst[edge]))};
    });
  };

  // Owned edges come first, ordered by type, so the first edge of each type is known without a
  // search.
  size_t first = 0;
  for (EdgeTypeId e = 0; e < book.edges().num_types(); e++) {
    const auto count = static_cast<size_t>(book.edges().count_in(part, e));
    if (count > 0 && first < edges.size()) look_at(first);
    first += count;
  }
  for (const auto& entry : ends) {
    if (entry) continue;
    for (size_t edge = 0; edge < edges.size(); edge++) look_at(edge);
    return;
  }
}

}  // namespace graphd
