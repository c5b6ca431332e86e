// SPDX-License-Identifier: Apache-2.0
#include "format/ogb_raw.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>

#include "base/file.h"
#include "base/strings.h"
#include "format/csv.h"
#include "format/feature_columns.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMaxCount = int64_t{1} << 40;

// directory/base.csv.gz, or directory/base.csv.
std::optional<std::string> FindCsv(const std::string& directory, const std::string& base) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    std::string path = JoinPath(directory, base + ending);
    if (FileExists(path)) return path;
  }
  return std::nullopt;
}

std::string RequireCsv(const std::string& directory, const std::string& base) {
  if (auto path = FindCsv(directory, base)) return *path;
  Throw(ErrorCode::kNotFound, JoinPath(directory, base), ".csv.gz (or .csv) does not exist; ",
        "--input must be a directory in OGB's raw layout");
}

int64_t ReadCount(const std::string& directory, const std::string& base) {
  CsvReader csv(RequireCsv(directory, base));
  std::array<int64_t, 1> count{};
  if (!csv.NextRow()) csv.Fail("the file is empty, expected one number");
  csv.ParseInts(count);
  if (count[0] < 0 || count[0] > kMaxCount) csv.Fail(count[0], " is outside 0..", kMaxCount);
  if (csv.NextRow()) csv.Fail("a second graph; only data sets of one graph can be partitioned");
  return count[0];
}

template <class Id>
void ReadEdgesAs(CsvReader& csv, int64_t nodes, int64_t edges, const StepProgress& progress,
                 RawEdges& out) {
  TensorBuilder src(DTypeOf<Id>()), dst(DTypeOf<Id>());
  std::array<int64_t, 2> ends{};
  int64_t count = 0;
  while (csv.NextRow()) {
    if (count == edges) csv.Fail("more edges than the ", edges, " that num-edge-list says");
    csv.ParseInts(ends);
    for (int64_t end : ends) {
      if (end < 0 || end >= nodes) csv.Fail("node ", end, " is outside 0..", nodes - 1);
    }
    src.Append(static_cast<Id>(ends[0]));
    dst.Append(static_cast<Id>(ends[1]));
    if (++count % 65536 == 0 && progress) {
      progress("reading " + csv.path(), csv.bytes_read(), csv.file_bytes());
    }
  }
  if (count != edges) {
    csv.Fail("the file ends after ", count, " edges, expected ", edges, " as num-edge-list says");
  }
  if (progress) progress("reading " + csv.path(), csv.file_bytes(), csv.file_bytes());
  out.src = std::move(src).Finish({edges});
  out.dst = std::move(dst).Finish({edges});
}

// Every raw/<kind>-NAME and raw/<kind>_NAME, in alphabetical order.
void ReadFeatures(const std::string& directory, const std::string& kind, int64_t rows,
                  const StepProgress& progress, std::vector<RawFeature>& features) {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(directory)) {
    files.push_back(entry.path().filename().string());
  }
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    if (!file.starts_with(kind + "-") && !file.starts_with(kind + "_")) continue;
    std::string name = file.substr(kind.size() + 1);
    if (name.ends_with(".gz")) name.resize(name.size() - 3);
    if (!name.ends_with(".csv") || name.size() == 4) continue;
    name.resize(name.size() - 4);
    const std::string path = JoinPath(directory, file);
    const NumberKind numbers = name == "feat" ? NumberKind::kFloat : NumberKind::kInfer;
    AddFeature(features, name, ReadCsvMatrix(path, rows, numbers, progress), path);
  }
}

// The scheme to use: split/<name>; nothing if the data set has no split.
std::optional<std::string> ChooseSplit(const std::string& directory, const std::string& wanted) {
  const std::string splits = JoinPath(directory, "split");
  std::vector<std::string> names;
  if (fs::is_directory(splits)) {
    for (const auto& entry : fs::directory_iterator(splits)) {
      if (entry.is_directory()) names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  if (!wanted.empty()) {
    if (std::find(names.begin(), names.end(), wanted) == names.end()) {
      Throw(ErrorCode::kInvalid, splits, " has no split '", wanted,
            "'; there are: ", names.empty() ? "none" : Join(names, ", "));
    }
    return JoinPath(splits, wanted);
  }
  if (names.size() > 1) {
    Throw(ErrorCode::kInvalid, splits, " has several splits: ", Join(names, ", "),
          "; choose one with --split");
  }
  if (names.empty()) return std::nullopt;
  return JoinPath(splits, names[0]);
}

Tensor ReadMask(const std::string& path, int64_t nodes) {
  Tensor mask = Tensor::Empty(DType::kUInt8, {nodes});
  const std::span<uint8_t> bits = mask.as<uint8_t>();
  std::fill(bits.begin(), bits.end(), uint8_t{0});
  CsvReader csv(path);
  std::array<int64_t, 1> id{};
  while (csv.NextRow()) {
    csv.ParseInts(id);
    if (id[0] < 0 || id[0] >= nodes) csv.Fail("node ", id[0], " is outside 0..", nodes - 1);
    bits[static_cast<size_t>(id[0])] = 1;
  }
  return mask;
}

}  // namespace

RawGraph ReadOgbRaw(const std::string& directory, const OgbRawOptions& options) {
  const std::string raw = JoinPath(directory, "raw");
  if (FindCsv(raw, "triplet-type-list")) {
    Throw(ErrorCode::kInvalid, raw, " is a heterogeneous data set; this version reads those with ",
          "one node type and one edge type");
  }
  RawGraph graph;
  graph.schema = Schema::Homogeneous();
  graph.nodes.resize(1);
  graph.edges.resize(1);
  RawNodes& nodes = graph.nodes[0];
  RawEdges& edges = graph.edges[0];

  nodes.count = ReadCount(raw, "num-node-list");
  if (nodes.count == 0) Throw(ErrorCode::kInvalid, raw, ": the graph has no nodes");
  const int64_t num_edges = ReadCount(raw, "num-edge-list");
  {
    CsvReader csv(RequireCsv(raw, "edge"));
    if (Partition::IdDType(nodes.count) == DType::kUInt32) {
      ReadEdgesAs<uint32_t>(csv, nodes.count, num_edges, options.progress, edges);
    } else {
      ReadEdgesAs<uint64_t>(csv, nodes.count, num_edges, options.progress, edges);
    }
  }
  ReadFeatures(raw, "node", nodes.count, options.progress, nodes.features);
  ReadFeatures(raw, "edge", num_edges, options.progress, edges.features);

  if (const auto split = ChooseSplit(directory, options.split)) {
    constexpr std::pair<const char*, const char*> kParts[] = {
        {"train", "train_mask"}, {"valid", "val_mask"}, {"test", "test_mask"}};
    for (const auto& [file, mask] : kParts) {
      const std::string path = RequireCsv(*split, file);
      AddFeature(nodes.features, mask, ReadMask(path, nodes.count), path);
    }
  }
  return graph;
}

}  // namespace graphd
