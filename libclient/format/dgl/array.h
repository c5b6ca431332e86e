// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "format/io/byte_reader.h"
#include "graphd/tensor.h"

// DGL's arrays on disk and its tensor dictionaries (node_feat.dgl, edge_feat.dgl). All numbers are
// little-endian and nothing is aligned.
//
//   array      u64 0xDD5E40F096B4A13F, u64 reserved, i32 device (1 = CPU), i32 device id, i32 ndim,
//              u8 kind (0 int, 1 uint, 2 float, 4 bfloat16), u8 bits, u16 lanes (1),
//              i64 shape[ndim], i64 bytes, bytes
//   named      u64 length, name, array
//   dictionary u64 0xDD5A9FBE3FA2443F, u64 count, u64 count, named[count], end of file
//
// torch.bool is stored as uint8 and can't be told from it.

namespace graphd {

// A view of an array in a mapped file, which must outlive it.
struct DglArray {
  DType dtype = DType::kInt64;
  std::vector<int64_t> shape;  // no dimension is negative; the product of those > 0 is < 2^56
  std::span<const std::byte> data;
  uint64_t offset = 0;  // offset of `data` in the file

  int64_t num_elements() const noexcept {
    return static_cast<int64_t>(data.size() / DTypeSize(dtype));
  }
};

struct DglNamedArray {
  std::string name;
  DglArray array;
};

// Minimum size in bytes of a named array.
constexpr uint64_t kDglNamedArrayMinBytes = 48;
// Maximum number of arrays in one list; a file that claims more is damaged.
constexpr uint64_t kDglMaxArrays = 16384;

// Reads an array. `what` names it in messages. Throws Error(kCorrupt), like the functions below
// (see byte_reader.h).
DglArray ReadDglArray(ByteReader& reader, const char* what);
// Reads a u64 count, then the arrays. Names may be in any order but must be distinct.
std::vector<DglNamedArray> ReadDglNamedArrays(ByteReader& reader, const char* what);
// Reads a whole tensor dictionary, which must end where the file ends.
std::vector<DglNamedArray> ReadDglTensorDict(ByteReader reader);

// Calls f(UnalignedSpan<T>) for an array of ids in a graph's structure, where T is int32_t or
// int64_t.
template <class F>
decltype(auto) VisitDglIds(const DglArray& ids, F&& f) {
  if (ids.dtype == DType::kInt32) return f(UnalignedSpan<int32_t>(ids.data));
  return f(UnalignedSpan<int64_t>(ids.data));
}

// Returns the array called `name`, or null.
const DglArray* FindDglArray(const std::vector<DglNamedArray>& arrays, const std::string& name);

}  // namespace graphd
