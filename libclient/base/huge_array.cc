// SPDX-License-Identifier: Apache-2.0
#include "base/huge_array.h"

#include <sys/mman.h>

#include "base/huge_pages.h"
#include "base/strings.h"

namespace graphd {

namespace {

void* Map(int fd, int flags, size_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* data = MapAligned(fd, bytes, PROT_READ | PROT_WRITE, flags);
  if (data == nullptr) {
    Throw(ErrorCode::kOverloaded, "no memory for ", what, ": ", HumanBytes(bytes));
  }
  ::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

}  // namespace

void* MapHuge(size_t bytes, const char* what) {
  return Map(-1, MAP_PRIVATE | MAP_ANONYMOUS, bytes, what);
}

void* MapHugeFile(int fd, size_t bytes, const char* what) {
  return Map(fd, MAP_SHARED, bytes, what);
}

void UnmapHuge(void* data, size_t bytes) noexcept {
  if (data) ::munmap(data, bytes);
}

}  // namespace graphd
