// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/memory_trimmer.h"

#include <malloc.h>

#include <algorithm>

namespace graphd {
namespace {

// Trimming locks the heap while it runs. It is therefore done only if it may give back at least
// this many bytes.
constexpr size_t kWorthTrimming = size_t{32} << 20;

// If memory was given back, and then used and freed again, the count of free bytes is the same as
// before. To find such memory, the heap is trimmed once in this number of runs, whatever the count
// is.
constexpr int kRunsBetweenTrims = 12;

size_t FreeHeapBytes() { return ::mallinfo2().fordblks; }

}  // namespace

void MemoryTrimmer::Run() {
  buffers_->Trim(kIdleTime);
  // Bytes that earlier trimming has given back are still counted as free.
  const size_t free_bytes = FreeHeapBytes();
  untrimmable_ = std::min(untrimmable_, free_bytes);
  const size_t known = ++runs_since_trim_ < kRunsBetweenTrims ? untrimmable_ : 0;
  if (free_bytes < known + kWorthTrimming) return;
  runs_since_trim_ = 0;
  ::malloc_trim(0);
  untrimmable_ = FreeHeapBytes();
}

}  // namespace graphd
