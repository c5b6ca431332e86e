// SPDX-License-Identifier: Apache-2.0
#include "format/input/chunked.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/index.h"
#include "format/input/edge_files.h"
#include "format/io/json_field.h"
#include "format/io/npy_file.h"
#include "format/io/table_reader.h"

namespace graphd {
namespace {

class Chunked {
 public:
  Chunked(const std::string& path, const StepProgress& progress, SpillFiles* spill)
      : path_(path),
        document_(ParseJsonFile(path)),
        root_(document_, path),
        progress_(progress),
        spill_(spill) {}

  RawGraph Read() {
    ReadSchema();
    const Schema& schema = graph_.schema;
    const std::vector<int64_t> nodes = ReadCounts("num_nodes", schema.num_ntypes());
    const std::vector<int64_t> edges = ReadCounts("num_edges", schema.num_etypes());
    for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
      graph_.nodes.emplace_back().count = nodes[Index(t)];
    }
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) ReadEdges(e, edges[Index(e)]);
    ReadData("node_data", [&](const std::string& type) {
      RawNodes& of_type = graph_.nodes[Index(schema.NodeTypeIdOf(type))];
      return std::pair(of_type.count, &of_type.features);
    });
    ReadData("edge_data", [&](const std::string& type) {
      RawEdges& of_type = graph_.edges[Index(schema.EdgeTypeIdOf(type))];
      return std::pair(of_type.count(), &of_type.features);
    });
    return std::move(graph_);
  }

 private:
  void ReadSchema() {
    std::vector<std::string> ntypes;
    const JsonField node_type = root_["node_type"];
    for (size_t i = 0; i < node_type.size(); i++) ntypes.push_back(node_type[i].String());
    std::vector<CanonicalEdgeType> etypes;
    const JsonField edge_type = root_["edge_type"];
    for (size_t i = 0; i < edge_type.size(); i++) {
      const std::vector<std::string> names = Split(edge_type[i].String(), ':');
      if (names.size() != 3) edge_type[i].Fail("\"src:rel:dst\"");
      etypes.push_back({names[0], names[1], names[2]});
    }
    try {
      graph_.schema = Schema(std::move(ntypes), std::move(etypes));
    } catch (const Error& error) {
      Throw(ErrorCode::kCorrupt, path_, ": ", error.what());
    }
  }

  // Returns <what>_per_type, or the sums of <what>_per_chunk; -1 for each type if both are missing.
  std::vector<int64_t> ReadCounts(const std::string& what, int32_t types) const {
    std::vector<int64_t> counts(Index(types), -1);
    const auto list = [&](const std::string& key) {
      JsonField field = root_[key];
      if (field.size() != counts.size()) {
        field.Fail(StrCat("a list of ", counts.size(), ", one for each type"));
      }
      return field;
    };
    if (root_.Has(what + "_per_type")) {
      const JsonField field = list(what + "_per_type");
      for (size_t t = 0; t < counts.size(); t++) counts[t] = field[t].Int(0, kMaxRawCount);
    }
    if (!root_.Has(what + "_per_chunk")) {
      if (counts[0] < 0 && what == "num_nodes")
        root_["num_nodes_per_type"];  // throws: it is missing
      return counts;
    }
    const JsonField field = list(what + "_per_chunk");
    for (size_t t = 0; t < counts.size(); t++) {
      int64_t sum = 0;
      for (size_t c = 0; c < field[t].size(); c++) {
        sum += field[t][c].Int(0, kMaxRawCount);
        if (sum > kMaxRawCount) field[t].Fail(StrCat("at most ", kMaxRawCount, " in all"));
      }
      if (counts[t] >= 0 && counts[t] != sum) {
        field[t].Fail(StrCat("a sum of ", counts[t], " as ", what, "_per_type has it, not ", sum));
      }
      counts[t] = sum;
    }
    return counts;
  }

  // Returns the files that `spec` lists (FILES in chunked.h), and sets `numpy` to whether they are
  // arrays.
  std::vector<std::string> Files(const JsonField& spec, bool& numpy) const {
    const JsonField name = spec["format"]["name"];
    const std::string format = name.String();
    if (format == "parquet") {
      Throw(ErrorCode::kInvalid, path_, ": ", spec.name(), " is in Parquet files, which can't be ",
            "read; write it as numpy (pandas: numpy.save(..., frame.to_numpy())) or csv, and ",
            "change its format in metadata.json");
    }
    if (format != "numpy" && format != "csv") name.Fail("\"numpy\" or \"csv\"");
    numpy = format == "numpy";
    const JsonField data = spec["data"];
    std::vector<std::string> files;
    for (size_t i = 0; i < data.size(); i++) files.push_back(Locate(data[i].String()));
    if (files.empty()) data.Fail("at least one path");
    return files;
  }

  std::string Locate(const std::string& path) const {
    const std::string directory = DirName(path_);
    std::string direct = JoinPath(directory, path);
    if (FileExists(direct) || !path.starts_with('/')) return direct;
    for (size_t slash = 0; slash != path.npos; slash = path.find('/', slash + 1)) {
      std::string moved = JoinPath(directory, path.substr(slash + 1));
      if (slash + 1 < path.size() && FileExists(moved)) return moved;
    }
    return direct;
  }

  void ReadEdges(EdgeTypeId e, int64_t wanted) {
    const Schema& schema = graph_.schema;
    const std::string etype = schema.etype(e).ToString();
    NodeIds src_ids(schema.etype(e).src), dst_ids(schema.etype(e).dst);
    src_ids.Close(graph_.nodes[Index(schema.src_type(e))].count, path_);
    dst_ids.Close(graph_.nodes[Index(schema.dst_type(e))].count, path_);
    EdgesBeingRead reading(src_ids, dst_ids, spill_);
    FeatureSelection none{std::vector<std::string>{}};
    bool numpy = false;
    for (const std::string& file : Files(root_["edges"][etype], numpy)) {
      if (numpy) {
        // Rows are edges, as in text. Without this argument, the array of a chunk of two edges
        // would be ambiguous.
        ReadNpyEdges(file, TwoByTwo::kEdgesInRows, reading, progress_);
      } else {
        const TableHints hints{.separator = std::nullopt, .header = false};
        ReadEdgeTable(OpenEdgeTable(file, schema.etype(e), hints, "", ""), none, reading,
                      progress_);
      }
    }
    const int64_t count = reading.ends.count();
    if (wanted >= 0 && count != wanted) {
      Throw(ErrorCode::kCorrupt, path_, ": the files of edges.", etype, " have ", count,
            " edges, expected ", wanted, " as num_edges says");
    }
    std::move(reading.ends).Finish(graph_.edges.emplace_back());
  }

  // Reads the features under `key`. `of(type)` returns the number of their rows and their
  // destination.
  template <class F>
  void ReadData(const char* key, F&& of) {
    if (!root_.Has(key)) return;
    const JsonField data = root_[key];
    for (const std::string& type : data.keys()) {
      const auto [rows, features] = [&] {
        try {
          return of(type);
        } catch (const Error& error) {
          Throw(ErrorCode::kCorrupt, path_, ": ", key, ": ", error.what());
        }
      }();
      for (const std::string& name : data[type].keys()) {
        bool numpy = false;
        const std::vector<std::string> files = Files(data[type][name], numpy);
        RawFeature read;
        if (numpy) {
          read.values = JoinArrays(files, rows);
        } else {
          read = ReadText(files, name);
        }
        const Tensor& values = read.values;
        if (values.shape().empty() || values.num_rows() != rows) {
          Throw(ErrorCode::kCorrupt, path_, ": the files of ", key, ".", type, ".", name, " have ",
                values.shape().empty() ? 0 : values.num_rows(), " rows, expected ", rows);
        }
        AddFeature(*features, name, std::move(read.values), path_);
        features->back().labels = std::move(read.labels);
      }
    }
  }

  // Returns the rows of all files: a single array is mapped, several are concatenated in memory.
  Tensor JoinArrays(const std::vector<std::string>& files, int64_t rows) const {
    Tensor first = spill_ ? spill_->MapNpyFile(files[0]) : MapNpy(files[0]);
    if (files.size() == 1) return first;
    std::vector<int64_t> shape = first.shape();
    if (shape.empty()) Throw(ErrorCode::kCorrupt, files[0], ": a single number, expected rows");
    shape[0] = rows;
    const size_t row_bytes = first.row_bytes();
    // Check the size before allocating: the array can't have more bytes than the files.
    uint64_t bytes = 0;
    for (const std::string& file : files) bytes += FileSize(file);
    uint64_t wanted = 0;
    if (__builtin_mul_overflow(Index(rows), row_bytes, &wanted) || wanted > bytes) {
      Throw(ErrorCode::kCorrupt, files[0], " and the ", files.size() - 1, " others have ",
            HumanBytes(bytes), ", expected ", rows, " rows of ", row_bytes, " bytes");
    }
    TensorBuilder joined(first.dtype(), spill_);
    int64_t done = 0;
    for (const std::string& file : files) {
      const Tensor piece = spill_ ? spill_->MapNpyFile(file) : MapNpy(file);
      const bool alike = piece.dtype() == first.dtype() && !piece.shape().empty() &&
                         std::equal(piece.shape().begin() + 1, piece.shape().end(),
                                    first.shape().begin() + 1, first.shape().end());
      if (!alike || piece.num_rows() > rows - done) {
        Throw(ErrorCode::kCorrupt, file, ": ",
              alike ? "more rows than the " : "rows unlike those of ",
              alike ? std::to_string(rows) + " expected" : files[0]);
      }
      joined.Append(std::span(piece.data(), piece.num_bytes()));
      done += piece.num_rows();
      if (progress_) progress_("reading " + file, 1, 1);
    }
    if (done != rows) {
      Throw(ErrorCode::kCorrupt, files.back(), ": the files end after ", done, " rows, expected ",
            rows);
    }
    return std::move(joined).Finish(std::move(shape));
  }

  RawFeature ReadText(const std::vector<std::string>& files, const std::string& name) const {
    FeatureSelection all;
    FeatureColumns columns(name, spill_);
    columns.RefuseTexts("; write numbers, such as a number for each text");
    int64_t rows = 0;
    for (const std::string& file : files) {
      const TableFormat format = DetectTable(file, {.separator = std::nullopt, .header = false});
      if (format.columns.empty()) continue;
      columns.Open(file, format, {}, all);
      TableReader reader(file, format);
      for (; reader.Next(); rows++) columns.Append(reader.cells(), reader);
      if (progress_) progress_("reading " + file, 1, 1);
    }
    std::vector<RawFeature> features;
    std::move(columns).Finish(rows, features);
    if (features.empty()) return {name, Tensor::Empty(DType::kFloat32, {0})};
    return std::move(features[0]);
  }

  const std::string& path_;
  const nlohmann::json document_;
  const JsonField root_;
  const StepProgress& progress_;
  SpillFiles* const spill_;
  RawGraph graph_;
};

}  // namespace

RawGraph ReadChunked(const std::string& metadata_path, const StepProgress& progress,
                     SpillFiles* spill) {
  return Chunked(metadata_path, progress, spill).Read();
}

}  // namespace graphd
