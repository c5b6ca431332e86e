// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

// The journal of a process's file operations, which power_shim writes and power_disk.h reads. A
// record is a PowerOp, the two paths, and the data.

namespace graphd::store {

enum class PowerOpKind : uint32_t {
  kOpen,      // `file` is the file at path `a`, which is created if needed
  kWrite,     // data at `offset`
  kTruncate,  // to `offset` bytes
  kSync,      // syncs a file's data, or a directory's names
  kMakeDirectory,
  kRename,  // a to b
  kLink,    // b is another name of a
  kRemove,  // a file or an empty directory
  kMark,    // a mark of the process: `file`, `offset`
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

// Adds a mark to the journal. Called by the process that the shim is linked into.
void PowerMark(uint64_t what, uint64_t number);
