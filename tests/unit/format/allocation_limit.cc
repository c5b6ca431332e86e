// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/format/allocation_limit.h"

#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <new>

namespace {
std::atomic<size_t> g_largest_block{SIZE_MAX};
}

void* operator new(size_t size) {
  if (size > g_largest_block.load(std::memory_order_relaxed)) throw std::bad_alloc();
  if (void* block = std::malloc(size ? size : 1)) return block;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  if (size > g_largest_block.load(std::memory_order_relaxed)) return nullptr;
  return std::malloc(size ? size : 1);
}
void* operator new[](size_t size) { return operator new(size); }
void* operator new[](size_t size, const std::nothrow_t& tag) noexcept {
  return operator new(size, tag);
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, size_t) noexcept { std::free(block); }
void operator delete[](void* block) noexcept { std::free(block); }
void operator delete[](void* block, size_t) noexcept { std::free(block); }

namespace graphd::test {

AllocationLimit::AllocationLimit(size_t largest_block, size_t largest_file) {
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  file_limit_before_ = limit.rlim_cur;
  limit.rlim_cur = largest_file;
  ::setrlimit(RLIMIT_FSIZE, &limit);
  ::signal(SIGXFSZ, SIG_IGN);  // writes fail with EFBIG instead
  g_largest_block = largest_block;
}

AllocationLimit::~AllocationLimit() {
  g_largest_block = SIZE_MAX;
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  limit.rlim_cur = file_limit_before_;
  ::setrlimit(RLIMIT_FSIZE, &limit);
}

}  // namespace graphd::test
