// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/memory_trimmer.h"

#include <malloc.h>

#include <algorithm>

namespace graphd {
namespace {

// Trimming the heap locks it for as long as it takes, so it has to be worth it.
constexpr size_t kWorthTrimming = size_t{32} << 20;

size_t FreeHeapBytes() { return ::mallinfo2().fordblks; }

}  // namespace

void MemoryTrimmer::Run() {
  buffers_->Trim(kIdleTime);
  // The bytes that trimming gives back are still counted as free.
  const size_t free_bytes = FreeHeapBytes();
  untrimmable_ = std::min(untrimmable_, free_bytes);
  if (free_bytes < untrimmable_ + kWorthTrimming) return;
  ::malloc_trim(0);
  untrimmable_ = FreeHeapBytes();
}

}  // namespace graphd
