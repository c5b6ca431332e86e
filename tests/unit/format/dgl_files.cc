// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/format/dgl_files.h"

#include <algorithm>
#include <numeric>

namespace graphd::test {
namespace {

class Bytes {
 public:
  template <class T>
  void Put(T value) {
    text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void Name(const std::string& name) {
    Put<uint64_t>(name.size());
    text += name;
  }
  void Array(DType dtype, const std::vector<int64_t>& shape, const std::string& data) {
    Put<uint64_t>(0xDD5E40F096B4A13F);
    Put<uint64_t>(0);
    Put<int32_t>(1);
    Put<int32_t>(0);
    Put(static_cast<int32_t>(shape.size()));
    const std::string name = DTypeName(dtype);
    Put<uint8_t>(name[0] == 'b' ? 4 : name[0] == 'f' ? 2 : name[0] == 'u' ? 1 : 0);
    Put(static_cast<uint8_t>(8 * DTypeSize(dtype)));
    Put<uint16_t>(1);
    for (int64_t extent : shape) Put(extent);
    Put(static_cast<int64_t>(data.size()));
    text += data;
  }
  void Ids(const std::vector<int64_t>& ids, bool narrow) {
    if (!narrow) {
      const Column column = MakeColumn("", ids);
      return Array(column.dtype, column.shape, column.bytes);
    }
    const Column column = MakeColumn("", std::vector<int32_t>(ids.begin(), ids.end()));
    Array(column.dtype, column.shape, column.bytes);
  }
  void Columns(const std::vector<Column>& columns) {
    Put<uint64_t>(columns.size());
    for (const Column& column : columns) {
      Name(column.name);
      Array(column.dtype, column.shape, column.bytes);
    }
  }
  void Compressed(int64_t size, const std::vector<int64_t>& rows,
                  const std::vector<int64_t>& others, bool narrow) {
    std::vector<int64_t> order(rows.size()), indptr(static_cast<size_t>(size) + 1), indices;
    std::iota(order.begin(), order.end(), int64_t{0});
    const auto row = [&](int64_t edge) { return rows[static_cast<size_t>(edge)]; };
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return row(a) < row(b); });
    for (int64_t edge : order) {
      indptr[static_cast<size_t>(row(edge)) + 1]++;
      indices.push_back(others[static_cast<size_t>(edge)]);
    }
    std::partial_sum(indptr.begin(), indptr.end(), indptr.begin());
    Put<uint64_t>(0xDD6CD31205DFF127);
    Put(size);
    Put(size);
    Ids(indptr, narrow);
    Ids(indices, narrow);
    Ids(std::is_sorted(order.begin(), order.end()) ? std::vector<int64_t>() : order, narrow);
    Put<uint8_t>(0);
  }
  void Meta() {
    Put<uint64_t>(0xDD3C5FFE20046ABF);
    Compressed(1, {0}, {0}, false);
  }

  std::string text;
};

void PutStructure(Bytes& out, const GraphFile& graph) {
  out.Put<uint64_t>(0xDD2E60F0F6B4A127);
  const int64_t old = graph.formats == kCsc ? 3 : graph.formats;
  out.Put(graph.old_format_field ? old : (int64_t{1} << 32) + graph.formats);
  out.Put((int64_t{1} << 32) + 7);
  if (graph.formats & kCoo) {
    out.Meta();
    out.Put<uint64_t>(0xDD61FFD305DFF127);
    out.Put(graph.num_nodes);
    out.Put(graph.num_nodes);
    out.Ids(graph.src, graph.narrow);
    out.Ids(graph.dst, graph.narrow);
    out.Ids({}, false);
    out.Put<uint16_t>(0);
  }
  if (graph.formats & kCsr) {
    out.Meta();
    out.Compressed(graph.num_nodes, graph.src, graph.dst, graph.narrow);
  }
  if (graph.formats & kCsc) {
    out.Meta();
    out.Compressed(graph.num_nodes, graph.dst, graph.src, graph.narrow);
  }
}

}  // namespace

std::string EncodeGraph(const GraphFile& graph) {
  Bytes out;
  for (uint64_t field : {uint64_t{0xDD2E4FF046B4A13F}, uint64_t{2}, uint64_t{2}, uint64_t{1}}) {
    out.Put(field);
  }
  out.text.resize(4096, '\xaa');
  const uint64_t start = 4096 + 16;
  out.Put(start);
  out.Put<uint64_t>(0);
  out.Put<uint64_t>(0xDD589FBE35224ABF);
  out.Meta();
  out.Put<uint64_t>(1);
  PutStructure(out, graph);
  out.Put<uint64_t>(1);
  out.Put(graph.num_nodes);
  out.Put<uint64_t>(1);
  out.Columns(graph.node_data);
  out.Put<uint64_t>(1);
  out.Columns(graph.edge_data);
  out.Put<uint64_t>(1);
  out.Name("_N");
  out.Put<uint64_t>(1);
  out.Name("_E");
  for (uint64_t field : {uint64_t{16}, uint64_t{1}, start, uint64_t{16}}) out.Put(field);
  return out.text;
}

std::string EncodeDict(const std::vector<Column>& columns) {
  Bytes out;
  out.Put<uint64_t>(0xDD5A9FBE3FA2443F);
  out.Put<uint64_t>(columns.size());
  out.Columns(columns);
  return out.text;
}

}  // namespace graphd::test
