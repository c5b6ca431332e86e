// SPDX-License-Identifier: Apache-2.0
#include "format/partition/node_integers.h"

#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "base/strings.h"
#include "format/io/csv_reader.h"
#include "format/io/npy_file.h"

namespace graphd {
namespace {

std::vector<int64_t> ReadText(const std::string& path, int64_t nodes, int64_t min, int64_t max,
                              const std::string& what) {
  CsvReader csv(path);
  std::vector<int64_t> values;
  std::array<int64_t, 1> value{};
  while (csv.NextRow()) {
    if (static_cast<int64_t>(values.size()) == nodes) {
      csv.Fail("a ", what, " after those of all ", nodes, " nodes");
    }
    csv.ParseInts(value);
    if (value[0] < min || value[0] > max) {
      csv.Fail(what, " ", value[0], " is outside ", min, "..", max);
    }
    values.push_back(value[0]);
  }
  if (static_cast<int64_t>(values.size()) != nodes) {
    csv.Fail("the file ends after ", values.size(), " numbers, expected a ", what, " for each of ",
             nodes, " nodes");
  }
  return values;
}

template <class T>
std::vector<int64_t> ConvertNpy(const NpyFile& file, int64_t min, int64_t max,
                                const std::string& what) {
  std::vector<int64_t> values(static_cast<size_t>(file.num_elements()));
  for (size_t i = 0; i < values.size(); i++) {
    T value;
    std::memcpy(&value, file.data().data() + i * sizeof(T), sizeof(T));
    // A uint64 beyond int64 exceeds any bound.
    const bool fits = std::is_signed_v<T> || static_cast<uint64_t>(value) <= uint64_t{INT64_MAX};
    if (!fits || static_cast<int64_t>(value) < min || static_cast<int64_t>(value) > max) {
      Throw(ErrorCode::kCorrupt, file.path(), ": ", what, " ", +value, " in element ", i,
            " is outside ", min, "..", max);
    }
    values[i] = static_cast<int64_t>(value);
  }
  return values;
}

std::vector<int64_t> ReadNpy(const std::string& path, int64_t nodes, int64_t min, int64_t max,
                             const std::string& what) {
  const NpyFile file(path);
  if (file.num_elements() != nodes) {
    Throw(ErrorCode::kCorrupt, path, ": ", file.num_elements(), " elements, expected a ", what,
          " for each of ", nodes, " nodes");
  }
  switch (file.dtype()) {
    case DType::kBool:
    case DType::kUInt8:
      return ConvertNpy<uint8_t>(file, min, max, what);
    case DType::kInt8:
      return ConvertNpy<int8_t>(file, min, max, what);
    case DType::kInt16:
      return ConvertNpy<int16_t>(file, min, max, what);
    case DType::kUInt16:
      return ConvertNpy<uint16_t>(file, min, max, what);
    case DType::kInt32:
      return ConvertNpy<int32_t>(file, min, max, what);
    case DType::kUInt32:
      return ConvertNpy<uint32_t>(file, min, max, what);
    case DType::kInt64:
      return ConvertNpy<int64_t>(file, min, max, what);
    case DType::kUInt64:
      return ConvertNpy<uint64_t>(file, min, max, what);
    default:
      Throw(ErrorCode::kCorrupt, path, ": elements of ", DTypeName(file.dtype()),
            ", expected integers");
  }
}

}  // namespace

std::vector<int64_t> ReadNodeIntegers(const std::string& path, int64_t nodes, int64_t min,
                                      int64_t max, const std::string& what) {
  return path.ends_with(".npy") ? ReadNpy(path, nodes, min, max, what)
                                : ReadText(path, nodes, min, max, what);
}

}  // namespace graphd
