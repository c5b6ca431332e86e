// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/memory_trimmer.h"

#include <malloc.h>

#include <algorithm>

namespace graphd {
namespace {

// Trimming the heap locks it for as long as it takes, so it has to be worth it.
constexpr size_t kWorthTrimming = size_t{32} << 20;

// Memory that was given back, used and freed again is counted as before. To find it, the heap is
// trimmed once in so many runs, whatever is counted.
constexpr int kRunsBetweenTrims = 12;

size_t FreeHeapBytes() { return ::mallinfo2().fordblks; }

}  // namespace

void MemoryTrimmer::Run() {
  buffers_->Trim(kIdleTime);
  // The bytes that trimming gives back are still counted as free.
  const size_t free_bytes = FreeHeapBytes();
  untrimmable_ = std::min(untrimmable_, free_bytes);
  const size_t known = ++runs_since_trim_ < kRunsBetweenTrims ? untrimmable_ : 0;
  if (free_bytes < known + kWorthTrimming) return;
  runs_since_trim_ = 0;
  ::malloc_trim(0);
  untrimmable_ = FreeHeapBytes();
}

}  // namespace graphd
