// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// What power_shim writes down of a process's work on files, and power_disk.h reads: a record is a
// PowerOp, the two paths, the data.

namespace graphd::store {

enum class PowerOpKind : uint32_t {
  kOpen,      // `file` stands for what path `a` names from now on; it is made if it is not there
  kWrite,     // data at `offset`
  kTruncate,  // to `offset` bytes
  kSync,      // a file's data, or a directory's names
  kMakeDirectory,
  kRename,  // a to b
  kLink,    // b is a's file too
  kRemove,  // a file or an empty directory
  kMark,    // the process says something of itself: `file`, `offset`
};

struct PowerOp {
  PowerOpKind kind;
  uint32_t a_bytes, b_bytes;  // lengths of the paths
  uint32_t zero;
  uint64_t file;
  uint64_t offset;
  uint64_t data_bytes;
};

}  // namespace graphd::store

// To be called by the process that the shim is linked into.
void PowerMark(uint64_t what, uint64_t number);
