// SPDX-License-Identifier: Apache-2.0
#include "base/huge_array.h"

#include <sys/mman.h>

#include "base/strings.h"

namespace graphd {

void* MapHuge(size_t bytes, const char* what) {
  if (bytes == 0) return nullptr;
  void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    Throw(ErrorCode::kOverloaded, "no memory for ", what, ": ", HumanBytes(bytes));
  }
  ::madvise(data, bytes, MADV_HUGEPAGE);
  return data;
}

void UnmapHuge(void* data, size_t bytes) noexcept {
  if (data) ::munmap(data, bytes);
}

}  // namespace graphd
