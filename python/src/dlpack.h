// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// The part of DLPack's ABI (version 0, capsules named "dltensor") that array libraries exchange. It
// has not changed since PyTorch 1.0, and all of them support it, so that the build needs none of
// their headers.

namespace graphd::python {

struct DLDevice {
  int32_t device_type, device_id;
};
inline constexpr int32_t kDLCpu = 1;

struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
enum DLCode : uint8_t { kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6 };

struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t* shape;
  int64_t* strides;  // null stands for row-major
  uint64_t byte_offset;
};

struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};

}  // namespace graphd::python
