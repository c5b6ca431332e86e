// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "graphd/tensor.h"

// Writes DGL's files (format/dgl/array.h, format/dgl/graph.h) byte by byte, so that tests can use
// variants that no fixture has, and false claims that DGL would never write.

namespace graphd::test {

struct Column {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

template <class T>
Column MakeColumn(std::string name, const std::vector<T>& values,
                  std::vector<int64_t> row_shape = {}) {
  int64_t row = 1;
  for (int64_t extent : row_shape) row *= extent;
  row_shape.insert(row_shape.begin(), static_cast<int64_t>(values.size()) / row);
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return {std::move(name), DTypeOf<T>(), std::move(row_shape), std::move(bytes)};
}

enum StoredFormats { kCoo = 1, kCsr = 2, kCsc = 4 };

struct GraphFile {
  int64_t num_nodes = 0;
  std::vector<int64_t> src, dst;  // by local edge id
  int formats = kCoo;
  bool old_format_field = false;  // the single-format number of old DGL; needs one format
  bool narrow = false;            // int32 structure
  std::vector<Column> node_data, edge_data;
};

std::string EncodeGraph(const GraphFile& graph);
std::string EncodeDict(const std::vector<Column>& columns);

}  // namespace graphd::test
