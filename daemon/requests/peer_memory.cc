// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/peer_memory.h"

#include <algorithm>

#include "base/strings.h"

namespace graphd {

PeerMemory::PeerMemory(uint64_t limit)
    : all_(std::make_shared<MemoryAccount>(
          "all clients", limit,
          "Read answers, ask for less at once or with fewer connections, or start graphd with a "
          "larger --peer_memory")),
      unattached_(std::make_shared<MemoryAccount>("clients without a job", all_)) {}

std::shared_ptr<MemoryAccount> PeerMemory::OfUnattached(const std::string& peer) {
  return std::make_shared<MemoryAccount>(StrCat("this client (", peer, ")"), unattached_);
}

std::shared_ptr<MemoryAccount> PeerMemory::OfMember(const std::string& job,
                                                    const std::string& peer) {
  std::shared_ptr<MemoryAccount> account;
  {
    const MutexLock lock(mutex_);
    std::erase_if(jobs_, [](const auto& entry) { return entry.second.expired(); });
    auto& known = jobs_[job];
    account = known.lock();
    if (!account) {
      account = std::make_shared<MemoryAccount>(StrCat("job ", job), all_);
      known = account;
    }
  }
  return std::make_shared<MemoryAccount>(StrCat("this client (", peer, ")"), std::move(account));
}

size_t PeerMemory::UsedBy(const std::string& job) const {
  const MutexLock lock(mutex_);
  const auto known = jobs_.find(job);
  const auto account = known == jobs_.end() ? nullptr : known->second.lock();
  return account ? account->used() : 0;
}

uint64_t PeerMemory::DefaultLimit(uint64_t memory) {
  constexpr uint64_t kLeast = uint64_t{2} << 30;
  return std::min(memory / 2, std::max(memory / 8, kLeast));
}

}  // namespace graphd
