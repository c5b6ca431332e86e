// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/graph.h"

#include "format/dgl/magic.h"

namespace graphd {
namespace {

using dgl::kBitmask;
using dgl::kHeaderBytes;

// Reads an array of ids: one dimension, int32 or int64, `count` elements (any number if it is
// negative).
DglArray ReadIds(ByteReader& reader, const char* what, int64_t count) {
  const uint64_t begin = reader.offset();
  DglArray array = ReadDglArray(reader, what);
  if (array.shape.size() != 1 || (array.dtype != DType::kInt64 && array.dtype != DType::kInt32)) {
    reader.Fail(begin, what, " holds ", DTypeName(array.dtype), " in ", array.shape.size(),
                " dimensions, expected int64 or int32 in one");
  }
  if (count >= 0 && array.num_elements() != count) {
    reader.Fail(begin, what, " has ", array.num_elements(), " elements, expected ", count);
  }
  return array;
}

// Reads the i64 pair (columns, rows) before a matrix; `nodes` is negative if any size is allowed.
void ExpectSquare(ByteReader& reader, const char* what, int64_t nodes) {
  const uint64_t begin = reader.offset();
  const auto cols = reader.Read<int64_t>(what);
  const auto rows = reader.Read<int64_t>(what);
  if (rows != cols || rows < 0 || (nodes >= 0 && rows != nodes)) {
    reader.Fail(begin, what, " is a matrix of ", rows, " x ", cols, ", expected ",
                nodes >= 0 ? nodes : cols, " rows and as many columns");
  }
}

DglCompressed ReadCompressed(ByteReader& reader, const char* what, int64_t nodes, int64_t edges) {
  reader.Expect(dgl::kCompressedMagic, "magic of a compressed matrix");
  ExpectSquare(reader, what, nodes);
  DglCompressed matrix;
  matrix.indptr = ReadIds(reader, what, nodes + 1);
  matrix.indices = ReadIds(reader, what, edges);
  const uint64_t ids_at = reader.offset();
  matrix.ids = ReadIds(reader, what, -1);
  const int64_t ids = matrix.ids.num_elements();
  if (ids != 0 && ids != matrix.indices.num_elements()) {
    reader.Fail(ids_at, what, " has ", ids, " edge ids, expected ", matrix.indices.num_elements(),
                " or none");
  }
  reader.Read<uint8_t>(what);
  return matrix;
}

DglCoo ReadCoo(ByteReader& reader, int64_t nodes) {
  reader.Expect(dgl::kCooMagic, "magic of a coordinate matrix");
  ExpectSquare(reader, "coordinate matrix", nodes);
  DglCoo coo;
  coo.src = ReadIds(reader, "sources of the edges", -1);
  coo.dst = ReadIds(reader, "destinations of the edges", coo.src.num_elements());
  const uint64_t ids_at = reader.offset();
  if (ReadDglArray(reader, "edge ids of a coordinate matrix").num_elements() != 0) {
    reader.Fail(ids_at, "a coordinate matrix carries edge ids, expected none: position is id");
  }
  reader.Read<uint8_t>("flags of a coordinate matrix");
  reader.Read<uint8_t>("flags of a coordinate matrix");
  return coo;
}

// Reads a metagraph, which must have one node type and one edge type from it to itself.
void ReadMeta(ByteReader& reader) {
  reader.Expect(dgl::kMetaMagic, "magic of a metagraph");
  const uint64_t begin = reader.offset();
  const DglCompressed meta = ReadCompressed(reader, "metagraph", 1, -1);
  if (meta.indices.num_elements() != 1) {
    reader.Fail(begin, "metagraph has ", meta.indices.num_elements(),
                " edge types, expected 1: a partition stores types as columns");
  }
}

// Returns the bits of the stored formats.
int64_t ReadFormats(ByteReader& reader) {
  const uint64_t begin = reader.offset();
  const auto stored = reader.Read<int64_t>("stored formats");
  reader.Read<int64_t>("allowed formats");
  int64_t bits = 0;
  if (stored >= kBitmask) {
    bits = stored - kBitmask;
  } else if (stored >= 1 && stored <= 3) {
    bits = int64_t{1} << (stored - 1);
  }
  if (bits < 1 || bits > 7) {
    reader.Fail(begin, "stored formats are ", stored, ", expected 2^32 + 1..7, or 1..3");
  }
  return bits;
}

void ReadUnit(ByteReader& reader, DglGraph& graph) {
  reader.Expect(dgl::kUnitMagic, "magic of a relation");
  const int64_t formats = ReadFormats(reader);
  // The number of nodes follows the matrices; take it from the first matrix, the rest must agree.
  graph.num_nodes = -1;
  graph.num_edges = -1;
  const auto peek_nodes = [&] {
    if (graph.num_nodes >= 0) return;
    ByteReader ahead = reader;
    ahead.Read<uint64_t>("magic of a matrix");
    graph.num_nodes = ahead.Read<int64_t>("size of a matrix");
    if (graph.num_nodes < 0 || graph.num_nodes > static_cast<int64_t>(ahead.size())) {
      reader.Fail(reader.offset() + 8, "matrix has ", graph.num_nodes,
                  " columns, more nodes than the file has bytes");
    }
  };
  if (formats & dgl::kCoo) {
    ReadMeta(reader);
    peek_nodes();
    graph.coo = ReadCoo(reader, graph.num_nodes);
    graph.num_edges = graph.coo->src.num_elements();
  }
  const auto compressed = [&](const char* what) {
    ReadMeta(reader);
    peek_nodes();
    DglCompressed matrix = ReadCompressed(reader, what, graph.num_nodes, graph.num_edges);
    graph.num_edges = matrix.indices.num_elements();
    return matrix;
  };
  if (formats & dgl::kCsr) graph.csr = compressed("out-edge matrix");
  if (formats & dgl::kCsc) graph.csc = compressed("in-edge matrix");
}

std::vector<DglNamedArray> ReadColumns(ByteReader& reader, const char* what, int64_t rows) {
  reader.Expect(1, what);
  const uint64_t begin = reader.offset();
  std::vector<DglNamedArray> columns = ReadDglNamedArrays(reader, what);
  for (const DglNamedArray& column : columns) {
    if (column.array.shape.empty() || column.array.shape[0] != rows) {
      reader.Fail(begin, what, ": column '", column.name, "' has ",
                  column.array.shape.empty() ? 0 : column.array.shape[0], " rows, expected ", rows);
    }
  }
  return columns;
}

void ReadTypeNames(ByteReader& reader, const char* what) {
  reader.Expect(1, what);
  reader.ReadString(1 << 16, what);
}

// Checks the list of offsets at the end; the graph must end where the list begins.
void CheckTrailer(ByteReader& reader, uint64_t start) {
  reader.Expect(16, "length of the list of graphs");
  reader.Expect(1, "number of graphs");
  reader.Expect(start, "offset of the graph");
  reader.Expect(16, "length of the list of graphs");
  if (reader.remaining() > 0) {
    reader.Fail(reader.offset(), reader.remaining(), " bytes follow the list of graphs, expected ",
                "the end of the file");
  }
}

uint64_t ReadFileHeader(ByteReader& reader) {
  reader.Expect(dgl::kFileMagic, "magic of a DGL graph file");
  const auto version = reader.Read<uint64_t>("version");
  if (version == 1) {
    Throw(ErrorCode::kVersion, reader.path(),
          ": a graph file of version 1, which DGL 0.4.2 and "
          "older wrote and no partition has, expected version 2; load and save it with DGL 0.5 or "
          "later");
  }
  if (version != 2) reader.Fail(8, "version is ", version, ", expected 2");
  reader.Expect(2, "kind of graph");
  reader.Expect(1, "number of graphs (a partition has one)");
  reader.Seek(kHeaderBytes, "the first graph's offset");
  const auto start = reader.Read<uint64_t>("the first graph's offset");
  ReadDglNamedArrays(reader, "number of labels");
  if (start != reader.offset()) {
    reader.Fail(kHeaderBytes, "the offset of the first graph is ", start, ", expected ",
                reader.offset(), ", right after the labels");
  }
  return start;
}

}  // namespace

DglGraph ReadDglGraph(ByteReader reader) {
  const uint64_t start = ReadFileHeader(reader);
  DglGraph graph;
  reader.Expect(dgl::kGraphMagic, "magic of a graph");
  ReadMeta(reader);
  reader.Expect(1, "number of relations (a partition stores one, and types as columns)");
  ReadUnit(reader, graph);
  reader.Expect(1, "number of node types (a partition stores one, and types as a column)");
  reader.Expect(static_cast<uint64_t>(graph.num_nodes), "number of nodes");
  graph.node_data = ReadColumns(reader, "node columns", graph.num_nodes);
  graph.edge_data = ReadColumns(reader, "edge columns", graph.num_edges);
  ReadTypeNames(reader, "names of node types");
  ReadTypeNames(reader, "names of edge types");
  CheckTrailer(reader, start);
  return graph;
}

}  // namespace graphd
