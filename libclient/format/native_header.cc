// SPDX-License-Identifier: Apache-2.0
#include "format/native_header.h"

#include <charconv>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

using nlohmann::json;

constexpr int64_t kVersion = 1;
constexpr size_t kMaxHeaderBytes = size_t{16} << 20;
// A layout looks names up by scanning; a header may not make that expensive.
constexpr size_t kMaxArrays = 4096;

// Reads typed members of one JSON object; every failure names file, place, key and expectation.
class ObjectReader {
 public:
  ObjectReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) Fail("it", "an object");
  }

  std::string String(const char* key) const {
    const json& value = Get(key, "a string");
    if (!value.is_string()) Fail(key, "a string");
    return value.get<std::string>();
  }

  uint64_t Unsigned(const char* key, uint64_t max) const {
    const json& value = Get(key, "a whole number");
    if (!value.is_number_unsigned() || value.get<uint64_t>() > max) {
      Fail(key, StrCat("a whole number in 0..", max));
    }
    return value.get<uint64_t>();
  }

  const json& Array(const char* key, size_t max_elements) const {
    const json& value = Get(key, "an array");
    if (!value.is_array() || value.size() > max_elements) {
      Fail(key, StrCat("an array of at most ", max_elements, " elements"));
    }
    return value;
  }

  [[noreturn]] void Fail(const char* key, const std::string& expected) const {
    Throw(ErrorCode::kCorrupt, where_, ": ", key, " is not ", expected,
          "; copy the partition again");
  }

 private:
  const json& Get(const char* key, const char* expected) const {
    const auto found = object_.find(key);
    if (found == object_.end()) Throw(ErrorCode::kCorrupt, where_, ": ", key, " is missing, expected ", expected);
    return *found;
  }

  const json& object_;
  std::string where_;
};

ArraySpec ReadArray(const ObjectReader& object) {
  ArraySpec spec;
  spec.name = object.String("name");
  try {
    spec.dtype = DTypeFromName(object.String("dtype"));
  } catch (const Error& error) {
    object.Fail("dtype", error.what());
  }
  for (const json& extent : object.Array("shape", 16)) {
    if (!extent.is_number_unsigned() || extent.get<uint64_t>() > INT64_MAX) {
      object.Fail("shape", "an array of whole numbers");
    }
    spec.shape.push_back(extent.get<int64_t>());
  }
  spec.offset = object.Unsigned("offset", INT64_MAX);
  spec.bytes = object.Unsigned("bytes", INT64_MAX);
  return spec;
}

uint64_t ReadChecksum(const ObjectReader& object) {
  const std::string text = object.String("xxh3");
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || text.size() != 16 || end != text.data() + text.size()) {
    object.Fail("xxh3", "16 hexadecimal digits");
  }
  return value;
}

NativeSegmentInfo ReadSegment(const json& value, const std::string& where,
                              const std::string& directory) {
  const ObjectReader object(value, where);
  NativeSegmentInfo segment;
  segment.file = object.String("file");
  if (segment.file.empty() || segment.file[0] == '.' ||
      segment.file.find('/') != std::string::npos ||
      segment.file.find('\0') != std::string::npos) {
    object.Fail("file", "the name of a file in the same directory");
  }
  const uint64_t total = object.Unsigned("total_bytes", INT64_MAX);
  const std::string path = JoinPath(directory, segment.file);
  const uint64_t size = FileSize(path);
  if (size != total) {
    Throw(ErrorCode::kCorrupt, path, ": ends at offset ", size, ", expected ", total,
          " bytes as ", where, " says; copy or partition it again");
  }
  std::vector<ArraySpec> table;
  for (const json& array : object.Array("arrays", kMaxArrays)) {
    const ObjectReader entry(array, StrCat(where, ".arrays[", table.size(), "]"));
    table.push_back(ReadArray(entry));
    segment.checksums.push_back(ReadChecksum(entry));
  }
  segment.layout = SegmentLayout::FromTable(table, total, where);
  return segment;
}

}  // namespace

uint64_t NativeHeader::total_bytes() const noexcept {
  uint64_t sum = 0;
  for (const NativeSegmentInfo& segment : segments) sum += segment.layout.total_bytes();
  return sum;
}

NativeHeader ReadNativeHeader(const std::string& directory) {
  const std::string path = JoinPath(directory, kNativeHeaderFile);
  json root;
  try {
    root = json::parse(ReadTextFile(path, kMaxHeaderBytes));
  } catch (const json::exception& error) {
    Throw(ErrorCode::kCorrupt, path, ": no JSON: ", error.what());
  }
  const ObjectReader object(root, path);
  const std::string format = object.String("format");
  if (format != kNativeFormatName) {
    Throw(ErrorCode::kVersion, path, ": format '", format, "', expected '", kNativeFormatName,
          "'; use the graphd that wrote it, or partition again");
  }
  if (object.Unsigned("version", UINT32_MAX) != kVersion) {
    Throw(ErrorCode::kVersion, path, ": version ", object.Unsigned("version", UINT32_MAX),
          ", this program reads version ", kVersion);
  }
  if (object.String("byte_order") != "little") object.Fail("byte_order", "'little'");
  NativeHeader header;
  header.graph_name = object.String("graph_name");
  header.part = static_cast<PartId>(object.Unsigned("part_id", INT32_MAX));
  for (const json& segment : object.Array("segments", 64)) {
    header.segments.push_back(
        ReadSegment(segment, StrCat(path, ": segments[", header.segments.size(), "]"), directory));
  }
  return header;
}

std::string NativeHeaderText(const NativeHeader& header) {
  nlohmann::ordered_json root;
  root["format"] = kNativeFormatName;
  root["version"] = kVersion;
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
      entry["arrays"].push_back({{"name", spec.name},
                                 {"dtype", DTypeName(spec.dtype)},
                                 {"shape", spec.shape},
                                 {"offset", spec.offset},
                                 {"bytes", spec.bytes},
                                 {"xxh3", hex}});
    }
    root["segments"].push_back(std::move(entry));
  }
  return root.dump(2) + "\n";
}

}  // namespace graphd
