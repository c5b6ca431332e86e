// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <string>

// Damage to files, the same in every run. For readers of files that may be cut, corrupt or lying.

namespace graphd::test {

// Calls `visit(name, bytes)` with damaged copies of `bytes`: cut at every `cut_step`th offset, and
// `count` times (seeded) with bytes flipped, numbers of 1 to 8 bytes set to extremes, pieces left
// out, doubled or exchanged. `name` says what was done. Offsets in [skip_begin, skip_end) are left
// alone.
struct Damage {
  uint64_t seed = 1;
  size_t count = 1000;
  size_t cut_step = 7;
  size_t skip_begin = 0, skip_end = 0;
};
void Mutate(const std::string& bytes, const Damage& damage,
            const std::function<void(const std::string& name, const std::string& bytes)>& visit);

// While alive, operator new refuses blocks of more than `largest_block` bytes with bad_alloc, and
// the kernel refuses files (memory files, too) of more than `largest_file`: what a lying file
// makes a reader allocate shows as a failure. One at a time. Needs allocation_limit.cc in the
// program.
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
