// SPDX-License-Identifier: Apache-2.0
#include "client/push_regions.h"

namespace graphd {

std::shared_ptr<PushRegions::Region> PushRegions::Take(uint64_t bytes) {
  bytes = (bytes + PushMemory::kAlignment - 1) / PushMemory::kAlignment * PushMemory::kAlignment;
  uint64_t offset = 0;
  {
    std::lock_guard lock(mutex_);
    for (const auto& [begin, end] : taken_) {
      if (begin - offset >= bytes) break;
      offset = end;
    }
    if (bytes == 0 || bytes > PushMemory::kBytes - offset) return nullptr;
    taken_.emplace(offset, offset + bytes);
  }
  return std::make_shared<Region>(shared_from_this(), offset);
}

void PushRegions::Give(uint64_t offset) noexcept {
  std::lock_guard lock(mutex_);
  taken_.erase(offset);
}

}  // namespace graphd
