// SPDX-License-Identifier: Apache-2.0
#include "format/dgl/array.h"

#include <unordered_set>

#include "format/dgl/magic.h"

namespace graphd {
namespace {

constexpr int32_t kMaxDims = 32;
constexpr uint64_t kMaxElements = uint64_t{1} << 56;
constexpr uint64_t kMaxName = 1 << 16;

DType ReadDType(ByteReader& reader, const char* what) {
  const uint64_t begin = reader.offset();
  const auto kind = reader.Read<uint8_t>(what);
  const auto bits = reader.Read<uint8_t>(what);
  const auto lanes = reader.Read<uint16_t>(what);
  for (const dgl::DTypeCode& code : dgl::kDTypes) {
    if (code.kind == kind && code.bits == bits && lanes == 1) return code.dtype;
  }
  reader.Fail(begin, "dtype of ", what, " is kind ", int{kind}, ", ", int{bits}, " bits, ", lanes,
              " lanes; expected a one-lane int, uint (8 to 64 bits), float (16 to 64) or bfloat16");
}

}  // namespace

DglArray ReadDglArray(ByteReader& reader, const char* what) {
  reader.Expect(dgl::kArrayMagic, "magic of an array");
  reader.Read<uint64_t>(what);
  const uint64_t device_at = reader.offset();
  const auto device = reader.Read<int32_t>(what);
  if (device != 1) {
    reader.Fail(device_at, what, " is of device type ", device, ", expected 1 (CPU)");
  }
  reader.Read<int32_t>(what);
  const uint64_t ndim_at = reader.offset();
  const auto ndim = reader.Read<int32_t>(what);
  if (ndim < 0 || ndim > kMaxDims) {
    reader.Fail(ndim_at, what, " has ", ndim, " dimensions, expected 0 to ", kMaxDims);
  }
  DglArray array;
  array.dtype = ReadDType(reader, what);
  const uint64_t shape_at = reader.offset();
  uint64_t elements = 1, above_zero = 1;
  for (int32_t i = 0; i < ndim; i++) {
    const auto extent = reader.Read<int64_t>(what);
    // Refuses an impossible extent even where another extent is 0, so that no product overflows.
    if (extent < 0 || static_cast<uint64_t>(extent) > kMaxElements / above_zero) {
      reader.Fail(shape_at + 8 * static_cast<uint64_t>(i), what, " has an extent of ", extent,
                  ", expected a shape of less than 2^56 elements");
    }
    elements *= static_cast<uint64_t>(extent);
    if (extent > 0) above_zero *= static_cast<uint64_t>(extent);
    array.shape.push_back(extent);
  }
  const auto bytes = reader.Read<int64_t>(what);
  const uint64_t expected = elements * DTypeSize(array.dtype);
  if (bytes < 0 || static_cast<uint64_t>(bytes) != expected) {
    reader.Fail(reader.offset() - 8, what, " has ", bytes, " bytes of data, expected ", expected,
                " by its shape");
  }
  array.offset = reader.offset();
  array.data = reader.ReadBytes(expected, what);
  return array;
}

std::vector<DglNamedArray> ReadDglNamedArrays(ByteReader& reader, const char* what) {
  const uint64_t begin = reader.offset();
  const uint64_t count = reader.ReadCount(kDglNamedArrayMinBytes, what);
  if (count > kDglMaxArrays) {
    reader.Fail(begin, what, " is ", count, ", expected at most ", kDglMaxArrays);
  }
  std::vector<DglNamedArray> arrays;
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t name_at = reader.offset();
    std::string name = reader.ReadString(kMaxName, "name of an array");
    if (!names.insert(name).second) {
      reader.Fail(name_at, "array '", name, "' is listed twice");
    }
    DglArray array = ReadDglArray(reader, ("array '" + name + "'").c_str());
    arrays.push_back({std::move(name), std::move(array)});
  }
  return arrays;
}

std::vector<DglNamedArray> ReadDglTensorDict(ByteReader reader) {
  reader.Expect(dgl::kDictMagic, "magic of a DGL tensor dictionary");
  const auto announced = reader.Read<uint64_t>("number of tensors");
  const uint64_t begin = reader.offset();
  std::vector<DglNamedArray> arrays = ReadDglNamedArrays(reader, "number of tensors");
  if (announced != arrays.size()) {
    reader.Fail(begin, "number of tensors is ", arrays.size(), ", expected ", announced,
                ", the number before it");
  }
  if (reader.remaining() > 0) {
    reader.Fail(reader.offset(), reader.remaining(),
                " bytes follow the last tensor, expected the "
                "end of the file");
  }
  return arrays;
}

const DglArray* FindDglArray(const std::vector<DglNamedArray>& arrays, const std::string& name) {
  for (const DglNamedArray& named : arrays) {
    if (named.name == name) return &named.array;
  }
  return nullptr;
}

}  // namespace graphd
