// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <optional>

#include "base/threads/mutex.h"
#include "store/rows/push.h"
#include "wire/memory/push_memory.h"

namespace graphd {

// The trainer's side of a session's PushMemory: the regions of this memory that hold the rows of
// pushes under way. A region is used for one attempt to send one push. It stays taken until the
// daemon has answered that push or a later one of the same sender, because the daemon may still
// process a call that was dropped here. Thread-safe.
class PushRegions {
 public:
  struct Region {
    uint64_t offset = 0;
    std::byte* data = nullptr;
  };

  // `id` identifies the memory at the daemon.
  PushRegions(UniqueFd fd, uint64_t id);
  PushRegions(const PushRegions&) = delete;
  PushRegions& operator=(const PushRegions&) = delete;

  uint64_t id() const noexcept { return id_; }
  // Takes the first free region that is large enough. Returns nothing if there is none, or in a
  // process that was forked from the owner of the memory. The numbers of one sender's pushes must
  // ascend.
  std::optional<Region> Take(uint64_t bytes, const store::ClientId& sender, uint64_t number) {
    return Find(bytes, {0, sender, number, /*prepared=*/false});
  }
  // Takes a region for a push that will be sent later, which TakePrepared then returns once. Uses
  // only the first half of the memory, which leaves room for pushes that are sent now.
  std::optional<Region> Prepare(uint64_t bytes, const store::ClientId& sender, uint64_t number) {
    return Find(bytes, {0, sender, number, /*prepared=*/true});
  }
  std::optional<Region> TakePrepared(uint64_t bytes, const store::ClientId& sender,
                                     uint64_t number);
  // Frees a region that the daemon no longer reads, or was never told of.
  void Give(const Region& region) noexcept;
  // Frees the regions of the sender's pushes up to this number.
  void GiveUpTo(const store::ClientId& sender, uint64_t number) noexcept;

 private:
  struct Taken {
    uint64_t end;
    store::ClientId sender;
    uint64_t number;
    bool prepared;  // for a push that is not sent yet
  };
  std::optional<Region> Find(uint64_t bytes, Taken taken);

  PushMemory memory_;  // taken_ has its regions, each with its taker
  const uint64_t id_;
  const int process_;
  Mutex mutex_;
  std::map<uint64_t, Taken> taken_ GRAPHD_GUARDED_BY(mutex_);  // by offset
};

}  // namespace graphd
