// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace graphd::test {

// While alive, operator new refuses blocks of more than `largest_block` bytes with bad_alloc, and
// the kernel refuses files (memory files, too) of more than `largest_file` bytes: a reader that
// allocates what a damaged file claims fails. At most one may be alive. Programs that use it must
// link allocation_limit.cc.
class AllocationLimit {
 public:
  AllocationLimit(size_t largest_block, size_t largest_file);
  ~AllocationLimit();
  AllocationLimit(const AllocationLimit&) = delete;
  AllocationLimit& operator=(const AllocationLimit&) = delete;

 private:
  uint64_t file_limit_before_;
};

}  // namespace graphd::test
