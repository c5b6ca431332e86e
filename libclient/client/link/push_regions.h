// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "store/rows/push.h"
#include "wire/push_memory.h"

namespace graphd {

// The trainer's side of a session's PushMemory: which parts of it hold the rows of pushes that are
// under way. A part is for one sending of one push, and stays taken until the daemon has answered
// that it is done with that push or a later one of the same sender: a call that was given up may
// still be in work. Thread-safe.
class PushRegions {
 public:
  struct Region {
    uint64_t offset = 0;
    std::byte* data = nullptr;
  };

  // `id`: what the daemon calls the memory.
  PushRegions(UniqueFd fd, uint64_t id);
  PushRegions(const PushRegions&) = delete;
  PushRegions& operator=(const PushRegions&) = delete;

  uint64_t id() const noexcept { return id_; }
  // The first part that is free and large enough; nothing if there is none, or in a process that
  // was forked from the one whose memory it is. Numbers of a sender ascend.
  std::optional<Region> Take(uint64_t bytes, const store::ClientId& sender, uint64_t number) {
    return Find(bytes, {0, sender, number, /*prepared=*/false});
  }
  // The same for a push that is sent later, in the first half, so that those whose turn it is find
  // room; and then: the part that was prepared for it, once.
  std::optional<Region> Prepare(uint64_t bytes, const store::ClientId& sender, uint64_t number) {
    return Find(bytes, {0, sender, number, /*prepared=*/true});
  }
  std::optional<Region> TakePrepared(uint64_t bytes, const store::ClientId& sender,
                                     uint64_t number);
  // Nobody reads this one (any more).
  void Give(const Region& region) noexcept;
  // Nobody reads what the sender sent under this number or smaller ones.
  void GiveUpTo(const store::ClientId& sender, uint64_t number) noexcept;

 private:
  struct Taken {
    uint64_t end;
    store::ClientId sender;
    uint64_t number;
    bool prepared;  // and not sent yet
  };
  std::optional<Region> Find(uint64_t bytes, Taken taken);

  PushMemory memory_;  // what lies in it: each part its taker
  const uint64_t id_;
  const int process_;
  std::mutex mutex_;
  std::map<uint64_t, Taken> taken_;  // by offset
};

}  // namespace graphd
