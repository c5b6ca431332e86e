// SPDX-License-Identifier: Apache-2.0
#include "client/push_regions.h"

#include <unistd.h>

namespace graphd {

PushRegions::PushRegions(UniqueFd fd, uint64_t id)
    : memory_(std::move(fd)), id_(id), process_(::getpid()) {}

std::optional<PushRegions::Region> PushRegions::Take(uint64_t bytes, const store::ClientId& sender,
                                                     uint64_t number) {
  if (bytes == 0 || bytes > PushMemory::kBytes || ::getpid() != process_) return {};
  bytes = (bytes + PushMemory::kAlignment - 1) / PushMemory::kAlignment * PushMemory::kAlignment;
  std::lock_guard lock(mutex_);
  uint64_t offset = 0;
  for (const auto& [begin, taken] : taken_) {
    if (begin - offset >= bytes) break;
    offset = taken.end;
  }
  if (bytes > PushMemory::kBytes - offset) return {};
  taken_.emplace(offset, Taken{offset + bytes, sender, number});
  return Region{offset, memory_.data() + offset};
}

void PushRegions::Give(const Region& region) noexcept {
  std::lock_guard lock(mutex_);
  taken_.erase(region.offset);
}

void PushRegions::GiveUpTo(const store::ClientId& sender, uint64_t number) noexcept {
  std::lock_guard lock(mutex_);
  std::erase_if(taken_, [&](const auto& entry) {
    return entry.second.sender == sender && entry.second.number <= number;
  });
}

}  // namespace graphd
