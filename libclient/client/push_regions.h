// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "wire/push_memory.h"

namespace graphd {

// The trainer's side of a session's PushMemory: which parts of it hold the rows of pushes that are
// under way. Thread-safe.
class PushRegions : public std::enable_shared_from_this<PushRegions> {
 public:
  // A part, for one push. Unless the daemon has said that it is done with it, nothing else is ever
  // written there: a call that was given up may still be in work.
  class Region {
   public:
    Region(std::shared_ptr<PushRegions> of, uint64_t offset)
        : of_(std::move(of)), offset_(offset) {}
    ~Region() {
      if (done_) of_->Give(offset_);
    }
    Region(const Region&) = delete;
    Region& operator=(const Region&) = delete;

    uint64_t offset() const noexcept { return offset_; }
    std::byte* data() const noexcept { return of_->memory_.data() + offset_; }
    void Done() noexcept { done_ = true; }

   private:
    const std::shared_ptr<PushRegions> of_;
    const uint64_t offset_;
    bool done_ = false;
  };

  // `id`: what the daemon calls the memory.
  PushRegions(UniqueFd fd, uint64_t id) : memory_(std::move(fd)), id_(id) {}
  uint64_t id() const noexcept { return id_; }
  // The first part that is free and large enough; null if there is none.
  std::shared_ptr<Region> Take(uint64_t bytes);

 private:
  void Give(uint64_t offset) noexcept;

  const PushMemory memory_;
  const uint64_t id_;
  std::mutex mutex_;
  std::map<uint64_t, uint64_t> taken_;  // offset -> end
};

}  // namespace graphd
