// SPDX-License-Identifier: Apache-2.0
#include "format/input/ogb_files.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/file.h"
#include "base/strings.h"
#include "format/input/edge_builder.h"
#include "format/input/feature_columns.h"
#include "format/io/csv_reader.h"

namespace graphd {
namespace {

namespace fs = std::filesystem;

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

void ReadOgbMasks(const std::string& directory, int64_t nodes, std::vector<RawFeature>& features) {
  constexpr std::pair<const char*, const char*> kParts[] = {
      {"train", "train_mask"}, {"valid", "val_mask"}, {"test", "test_mask"}};
  for (const auto& [file, mask] : kParts) {
    const std::string path = RequireOgbCsv(directory, file);
    AddFeature(features, mask, ReadMask(path, nodes), path);
  }
}

std::optional<std::string> FindOgbCsv(const std::string& directory, const std::string& base) {
  for (const char* ending : {".csv.gz", ".csv"}) {
    std::string path = JoinPath(directory, base + ending);
    if (FileExists(path)) return path;
  }
  return std::nullopt;
}

std::string RequireOgbCsv(const std::string& directory, const std::string& base) {
  if (auto path = FindOgbCsv(directory, base)) return *path;
  Throw(ErrorCode::kNotFound, JoinPath(directory, base), ".csv.gz (or .csv) does not exist; ",
        "--input must be a directory in OGB's raw layout");
}

int64_t ReadOgbCount(const std::string& directory, const std::string& base) {
  CsvReader csv(RequireOgbCsv(directory, base));
  std::array<int64_t, 1> count{};
  if (!csv.NextRow()) csv.Fail("the file is empty, expected one number");
  csv.ParseInts(count);
  if (count[0] < 0 || count[0] > kMaxRawCount) csv.Fail(count[0], " is outside 0..", kMaxRawCount);
  if (csv.NextRow()) csv.Fail("a second graph; only data sets of one graph can be partitioned");
  return count[0];
}

void ReadOgbEdges(const std::string& directory, int64_t src_nodes, int64_t dst_nodes, int64_t count,
                  const StepProgress& progress, RawEdges& edges, SpillFiles* spill) {
  CsvReader csv(RequireOgbCsv(directory, "edge"));
  EdgeBuilder ends(spill);
  std::array<int64_t, 2> row{};
  const auto check = [&](int64_t node, int64_t nodes) {
    if (node < 0 || node >= nodes) csv.Fail("node ", node, " is outside 0..", nodes - 1);
  };
  while (csv.NextRow()) {
    if (ends.count() == count) csv.Fail("more edges than the ", count, " that num-edge-list says");
    csv.ParseInts(row);
    check(row[0], src_nodes);
    check(row[1], dst_nodes);
    ends.Add(static_cast<uint64_t>(row[0]), static_cast<uint64_t>(row[1]));
    if (ends.count() % 65536 == 0 && progress) {
      progress("reading " + csv.path(), csv.bytes_read(), csv.file_bytes());
    }
  }
  if (ends.count() != count) {
    csv.Fail("the file ends after ", ends.count(), " edges, expected ", count,
             " as num-edge-list says");
  }
  if (progress) progress("reading " + csv.path(), csv.file_bytes(), csv.file_bytes());
  std::move(ends).Finish(edges);
}

void ReadOgbFeatures(const std::string& directory, const std::string& kind, int64_t rows,
                     const StepProgress& progress, std::vector<RawFeature>& features,
                     SpillFiles* spill) {
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
    AddFeature(features, name, ReadCsvMatrix(path, rows, numbers, progress, spill), path);
  }
}

std::optional<std::string> ChooseOgbSplit(const std::string& directory, const std::string& wanted) {
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

}  // namespace graphd
