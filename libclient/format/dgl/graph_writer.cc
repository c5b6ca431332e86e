// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/graph_writer.h"

#include <vector>

#include "format/dgl/magic.h"

namespace graphd {
namespace {

class GraphFile {
 public:
  GraphFile(const DglHalo& halo, int64_t formats, DglOutput& out)
      : halo_(halo), formats_(formats), out_(out) {
    const GraphMeta& meta = halo.meta();
    several_ = meta.book.num_partitions() > 1;
    typed_ = !several_ || !meta.schema.is_homogeneous();
  }

  void Write() {
    PutFileHeader();
    const uint64_t start = out_.position();
    out_.Put(dgl::kGraphMagic);
    PutMeta();
    out_.Put(uint64_t{1});
    PutUnit();
    out_.Put(uint64_t{1});
    out_.Put(halo_.num_nodes());
    PutNodeColumns();
    PutEdgeColumns();
    for (const char* name : {"_N", "_E"}) {
      out_.Put(uint64_t{1});
      out_.PutText(name);
    }
    for (uint64_t field : {uint64_t{16}, uint64_t{1}, start, uint64_t{16}}) out_.Put(field);
  }

 private:
  void PutFileHeader() {
    const uint64_t version = 2, kind = 2, graphs = 1, labels = 0;
    for (uint64_t field : {dgl::kFileMagic, version, kind, graphs}) out_.Put(field);
    out_.PutZeros(dgl::kHeaderBytes - out_.position());
    out_.Put(dgl::kHeaderBytes + 16);  // offset of the graph
    out_.Put(labels);
  }

  // Writes a metagraph with one node type and one relation to itself, as a matrix.
  void PutMeta() {
    const int64_t indptr[] = {0, 1}, indices[] = {0};
    out_.Put(dgl::kMetaMagic);
    out_.Put(dgl::kCompressedMagic);
    out_.Put(int64_t{1});
    out_.Put(int64_t{1});
    out_.PutIds(indptr);
    out_.PutIds(indices);
    out_.PutIds(indices);
    out_.Put(uint8_t{0});
  }

  void PutUnit() {
    out_.Put(dgl::kUnitMagic);
    out_.Put(dgl::kBitmask | formats_);
    out_.Put(dgl::kBitmask | dgl::kCoo | dgl::kCsr | dgl::kCsc);
    if (formats_ & dgl::kCoo) PutCoo();
    if (formats_ & dgl::kCsr) PutCsr();
    if (formats_ & dgl::kCsc) PutCsc();
  }

  void BeginMatrix(uint64_t magic) {
    PutMeta();
    out_.Put(magic);
    out_.Put(halo_.num_nodes());
    out_.Put(halo_.num_nodes());
  }

  // Writes an array of value(edge) by local edge id.
  template <class T, class F>
  void PutEachEdge(F&& value) {
    out_.BeginArray(DTypeOf<T>(), {halo_.num_edges()});
    halo_.ForEachEdge([&](const DglHalo::Edge& edge) { out_.Put(static_cast<T>(value(edge))); });
    out_.EndArray();
  }

  void PutCoo() {
    BeginMatrix(dgl::kCooMagic);
    PutEachEdge<int64_t>([&](const DglHalo::Edge& edge) { return halo_.LocalSrc(edge); });
    PutEachEdge<int64_t>([&](const DglHalo::Edge& edge) { return halo_.LocalDst(edge); });
    out_.PutIds({});
    out_.Put(uint8_t{0});  // "rows are sorted": no
    out_.Put(uint8_t{0});  // "columns are sorted": no
  }

  void PutCsc() {
    BeginMatrix(dgl::kCompressedMagic);
    int64_t edges = 0;
    out_.BeginArray(DType::kInt64, {halo_.num_nodes() + 1});
    out_.Put(edges);
    halo_.ForEachRow([&](const DglHalo::Edge&) { edges++; }, [&] { out_.Put(edges); });
    out_.EndArray();
    const auto put_each = [&](auto&& value) {
      out_.BeginArray(DType::kInt64, {halo_.num_edges()});
      halo_.ForEachRow([&](const DglHalo::Edge& edge) { out_.Put(value(edge)); }, [] {});
      out_.EndArray();
    };
    put_each([&](const DglHalo::Edge& edge) { return halo_.LocalSrc(edge); });
    put_each([](const DglHalo::Edge& edge) { return edge.local_id; });
    out_.Put(uint8_t{0});  // "sorted": no
  }

  // Collects the rows of all sources first, because sources are visited in no particular order.
  void PutCsr() {
    struct Entry {
      int64_t dst, edge;
    };
    const auto nodes = static_cast<size_t>(halo_.num_nodes());
    std::vector<int64_t> indptr(nodes + 1);
    halo_.ForEachEdge([&](const DglHalo::Edge& edge) {
      indptr[static_cast<size_t>(halo_.LocalSrc(edge)) + 1]++;
    });
    for (size_t i = 0; i < nodes; i++) indptr[i + 1] += indptr[i];
    std::vector<int64_t> next(indptr.begin(), indptr.end() - 1);
    std::vector<Entry> entries(static_cast<size_t>(halo_.num_edges()));
    halo_.ForEachEdge([&](const DglHalo::Edge& edge) {
      const auto at = next[static_cast<size_t>(halo_.LocalSrc(edge))]++;
      entries[static_cast<size_t>(at)] = {halo_.LocalDst(edge), edge.local_id};
    });
    BeginMatrix(dgl::kCompressedMagic);
    out_.PutIds(indptr);
    out_.BeginArray(DType::kInt64, {halo_.num_edges()});
    for (const Entry& entry : entries) out_.Put(entry.dst);
    out_.EndArray();
    out_.BeginArray(DType::kInt64, {halo_.num_edges()});
    for (const Entry& entry : entries) out_.Put(entry.edge);
    out_.EndArray();
    out_.Put(uint8_t{0});  // "sorted": no
  }

  // Writes a column of value(homogeneous id, type, owner) by local node id.
  template <class T, class F>
  void PutNodeColumn(const char* name, F&& value) {
    out_.PutText(name);
    out_.BeginArray(DTypeOf<T>(), {halo_.num_nodes()});
    halo_.ForEachNode([&](int64_t homo, NodeTypeId type, PartId owner) {
      out_.Put(static_cast<T>(value(homo, type, owner)));
    });
    out_.EndArray();
  }

  void PutNodeTypes() {
    PutNodeColumn<int32_t>("_TYPE", [](int64_t, NodeTypeId type, PartId) { return type; });
  }

  // Writes the columns in the order of DGL's hash maps, only so that files can be compared byte by
  // byte.
  void PutNodeColumns() {
    out_.Put(uint64_t{1});
    out_.Put(uint64_t{2} + several_ + typed_);
    if (several_) {
      if (typed_) PutNodeTypes();
      PutNodeColumn<int64_t>("part_id", [](int64_t, NodeTypeId, PartId owner) { return owner; });
    }
    PutNodeColumn<uint8_t>(
        "inner_node", [&](int64_t, NodeTypeId, PartId owner) { return owner == halo_.part(); });
    if (!several_) PutNodeTypes();
    PutNodeColumn<int64_t>("_ID", [](int64_t homo, NodeTypeId, PartId) { return homo; });
  }

  void PutEdgeTypes() {
    out_.PutText("_TYPE");
    PutEachEdge<int32_t>([](const DglHalo::Edge& edge) { return edge.type; });
  }

  void PutEdgeColumns() {
    out_.Put(uint64_t{1});
    out_.Put(uint64_t{2} + typed_);
    if (typed_ && several_) PutEdgeTypes();
    out_.PutText("inner_edge");
    PutEachEdge<uint8_t>(
        [&](const DglHalo::Edge& edge) { return edge.local_id < halo_.num_owned_edges(); });
    if (!several_) PutEdgeTypes();
    out_.PutText("_ID");
    PutEachEdge<int64_t>([](const DglHalo::Edge& edge) { return edge.id; });
  }

  const DglHalo& halo_;
  int64_t formats_;
  DglOutput& out_;
  bool several_ = false;  // the graph has several partitions
  bool typed_ = false;    // the columns _TYPE are written
};

}  // namespace

void WriteDglGraph(const DglHalo& halo, int64_t formats, DglOutput& out) {
  GraphFile(halo, formats, out).Write();
}

}  // namespace graphd
