// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "graphd/tensor.h"

// The magic numbers of DGL's files, for reading and writing (array.h and graph.h describe the
// layouts).

namespace graphd::dgl {

constexpr uint64_t kArrayMagic = 0xDD5E40F096B4A13F;
constexpr uint64_t kDictMagic = 0xDD5A9FBE3FA2443F;
constexpr uint64_t kFileMagic = 0xDD2E4FF046B4A13F;
constexpr uint64_t kGraphMagic = 0xDD589FBE35224ABF;
constexpr uint64_t kMetaMagic = 0xDD3C5FFE20046ABF;
constexpr uint64_t kUnitMagic = 0xDD2E60F0F6B4A127;
constexpr uint64_t kCooMagic = 0xDD61FFD305DFF127;
constexpr uint64_t kCompressedMagic = 0xDD6CD31205DFF127;

constexpr uint64_t kHeaderBytes = 4096;           // size of a graph file's header, mostly unused
constexpr int64_t kBitmask = int64_t{1} << 32;    // set in a format field that is a set of bits
enum : int64_t { kCoo = 1, kCsr = 2, kCsc = 4 };  // the bits, in the order of the matrices

struct DTypeCode {
  uint8_t kind, bits;
  DType dtype;
};

constexpr DTypeCode kDTypes[] = {
    {0, 8, DType::kInt8},     {0, 16, DType::kInt16},   {0, 32, DType::kInt32},
    {0, 64, DType::kInt64},   {1, 8, DType::kUInt8},    {1, 16, DType::kUInt16},
    {1, 32, DType::kUInt32},  {1, 64, DType::kUInt64},  {2, 16, DType::kFloat16},
    {2, 32, DType::kFloat32}, {2, 64, DType::kFloat64}, {4, 16, DType::kBFloat16},
};

}  // namespace graphd::dgl
