// SPDX-License-Identifier: Apache-2.0
#include "client/link/push_regions.h"

#include <unistd.h>

namespace graphd {
namespace {

uint64_t RoundUp(uint64_t bytes) {
  return (bytes + PushMemory::kAlignment - 1) / PushMemory::kAlignment * PushMemory::kAlignment;
}

}  // namespace

PushRegions::PushRegions(UniqueFd fd, uint64_t id)
    : memory_(std::move(fd)), id_(id), process_(::getpid()) {}

std::optional<PushRegions::Region> PushRegions::Find(uint64_t bytes, Taken taken) {
  if (bytes == 0 || bytes > PushMemory::kBytes || ::getpid() != process_) return {};
  bytes = RoundUp(bytes);
  uint64_t offset = 0;
  MutexLock lock(mutex_);
  for (const auto& [begin, other] : taken_) {
    if (begin - offset >= bytes) break;
    offset = other.end;
  }
  const uint64_t room = taken.prepared ? PushMemory::kBytes / 2 : PushMemory::kBytes;
  if (offset > room || bytes > room - offset) return {};
  taken.end = offset + bytes;
  taken_.emplace(offset, taken);
  lock.Unlock();
  memory_.TakeUpTo(taken.end);
  return Region{offset, memory_.data() + offset};
}

std::optional<PushRegions::Region> PushRegions::TakePrepared(uint64_t bytes,
                                                             const store::ClientId& sender,
                                                             uint64_t number) {
  const MutexLock lock(mutex_);
  for (auto& [begin, taken] : taken_) {
    if (!taken.prepared || !(taken.sender == sender) || taken.number != number) continue;
    if (taken.end - begin != RoundUp(bytes)) continue;
    taken.prepared = false;
    return Region{begin, memory_.data() + begin};
  }
  return {};
}

void PushRegions::Give(const Region& region) noexcept {
  const MutexLock lock(mutex_);
  taken_.erase(region.offset);
}

void PushRegions::GiveUpTo(const store::ClientId& sender, uint64_t number) noexcept {
  const MutexLock lock(mutex_);
  std::erase_if(taken_, [&](const auto& entry) {
    return entry.second.sender == sender && entry.second.number <= number;
  });
}

}  // namespace graphd
