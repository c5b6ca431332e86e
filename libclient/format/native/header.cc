// SPDX-License-Identifier: Apache-2.0
#include "format/native/header.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "format/io/json_field.h"
#include "graph/id_json.h"

namespace graphd {
namespace {

// Version 2 added encodings of features. A header without any has version 1.
constexpr int64_t kVersion = 1, kVersionWithEncodings = 2;
// Limits the arrays of a header, because a layout looks names up by scanning.
constexpr size_t kMaxSegments = 16, kMaxArrays = 4096, kMaxDimensions = 16;

size_t BoundedSize(const JsonField& list, size_t max) {
  if (list.size() > max) list.Fail(StrCat("a list of at most ", max));
  return list.size();
}

DType ReadDType(const JsonField& field) {
  try {
    return DTypeFromName(field.String());
  } catch (const Error&) {
    field.Fail("the name of a dtype");
  }
}

ArraySpec ReadArray(const JsonField& object, int64_t version) {
  ArraySpec spec;
  spec.name = object["name"].String();
  spec.encoding = Encoding::Plain(ReadDType(object["dtype"]));
  if (version >= kVersionWithEncodings) {
    if (object.Has("read_as")) spec.encoding.dtype = ReadDType(object["read_as"]);
    if (object.Has("scale")) spec.encoding.scale = static_cast<float>(object["scale"].Number());
  }
  const JsonField shape = object["shape"];
  for (size_t i = 0; i < BoundedSize(shape, kMaxDimensions); i++) {
    spec.shape.push_back(shape[i].Int(0, INT64_MAX));
  }
  spec.offset = static_cast<uint64_t>(object["offset"].Int(0, INT64_MAX));
  spec.bytes = static_cast<uint64_t>(object["bytes"].Int(0, INT64_MAX));
  return spec;
}

uint64_t ReadChecksum(const JsonField& field) {
  const std::string text = field.String();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || text.size() != 16 || end != text.data() + text.size()) {
    field.Fail("16 hexadecimal digits");
  }
  return value;
}

NativeSegmentInfo ReadSegment(const JsonField& object, int64_t version,
                              const std::string& directory) {
  NativeSegmentInfo segment;
  segment.file = object["file"].String();
  if (segment.file.empty() || segment.file[0] == '.' ||
      segment.file.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    object["file"].Fail("the name of a file in the same directory");
  }
  const auto total = static_cast<uint64_t>(object["total_bytes"].Int(0, INT64_MAX));
  const std::string path = JoinPath(directory, segment.file);
  const uint64_t size = directory.empty() ? total : FileSize(path);
  if (size != total) {
    Throw(ErrorCode::kCorrupt, path, ": ends at offset ", size, ", expected ", total, " bytes as ",
          kNativeHeaderFile, " says; copy or partition it again");
  }
  const JsonField arrays = object["arrays"];
  std::vector<ArraySpec> table;
  for (size_t i = 0; i < BoundedSize(arrays, kMaxArrays); i++) {
    table.push_back(ReadArray(arrays[i], version));
    segment.checksums.push_back(ReadChecksum(arrays[i]["xxh3"]));
  }
  segment.layout =
      SegmentLayout::FromTable(table, total, StrCat(object.file(), ": ", object.name()));
  return segment;
}

}  // namespace

uint64_t NativeHeader::total_bytes() const noexcept {
  uint64_t sum = 0;
  for (const NativeSegmentInfo& segment : segments) {
    sum = AddSizes(sum, segment.layout.total_bytes());
  }
  return sum;
}

NativeHeader ReadNativeHeader(const std::string& directory) {
  return ReadNativeHeaderFile(JoinPath(directory, kNativeHeaderFile), directory);
}

NativeHeader ReadNativeHeaderFile(const std::string& path, const std::string& directory) {
  const nlohmann::json document = ParseJsonFile(path);
  const JsonField root(document, path);
  const std::string format = root["format"].String();
  const int64_t version = root["version"].Int(0, INT64_MAX);
  if (format != kNativeFormatName || version < kVersion || version > kVersionWithEncodings) {
    Throw(ErrorCode::kVersion, path, ": format '", format, "', version ", version,
          "; this program reads '", kNativeFormatName, "', versions ", kVersion, " to ",
          kVersionWithEncodings, "; use the graphd that wrote it, or partition again");
  }
  if (root["byte_order"].String() != "little") root["byte_order"].Fail("\"little\"");
  NativeHeader header;
  header.graph_name = root["graph_name"].String();
  header.part = static_cast<PartId>(root["part_id"].Int(0, INT32_MAX));
  const JsonField segments = root["segments"];
  for (size_t i = 0; i < BoundedSize(segments, kMaxSegments); i++) {
    header.segments.push_back(ReadSegment(segments[i], version, directory));
  }
  return header;
}

std::string NativeHeaderText(const NativeHeader& header) {
  const bool has_encodings =
      std::any_of(header.segments.begin(), header.segments.end(), [](const auto& segment) {
        const auto& arrays = segment.layout.arrays();
        return std::any_of(arrays.begin(), arrays.end(),
                           [](const ArraySpec& spec) { return !spec.encoding.is_plain(); });
      });
  nlohmann::ordered_json root;
  root["format"] = kNativeFormatName;
  root["version"] = has_encodings ? kVersionWithEncodings : kVersion;
  root["byte_order"] = "little";
  root["graph_name"] = header.graph_name;
  root["part_id"] = header.part;
  root["segments"] = nlohmann::ordered_json::array();
  for (const NativeSegmentInfo& segment : header.segments) {
    nlohmann::ordered_json entry;
    entry["file"] = segment.file;
    entry["total_bytes"] = segment.layout.total_bytes();
    entry["arrays"] = nlohmann::ordered_json::array();
    for (size_t i = 0; i < segment.checksums.size(); i++) {
      const ArraySpec& spec = segment.layout.arrays()[i];
      char hex[17];
      std::snprintf(hex, sizeof hex, "%016llx",
                    static_cast<unsigned long long>(segment.checksums[i]));
      nlohmann::ordered_json array{{"name", spec.name}, {"dtype", DTypeName(spec.dtype())}};
      if (!spec.encoding.is_plain()) array["read_as"] = DTypeName(spec.encoding.dtype);
      // A double has all digits of the float.
      if (spec.encoding.scale != 1) array["scale"] = double{spec.encoding.scale};
      array.update(
          {{"shape", spec.shape}, {"offset", spec.offset}, {"bytes", spec.bytes}, {"xxh3", hex}});
      entry["arrays"].push_back(std::move(array));
    }
    root["segments"].push_back(std::move(entry));
  }
  return root.dump(2) + "\n";
}

}  // namespace graphd
