// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/file.h"
#include "base/threads/mutex.h"

namespace graphd {

// Memory that a trainer and a daemon on the same machine share for one session. The trainer writes
// the rows of a push there and sends only their offset, so that they are not copied through a
// socket. The daemon creates the memory and reads it. It relies on the size of the memory, but
// never on the contents, which the trainer can change at any time. The trainer allocates pages
// before it first writes to them.
class PushMemory {
 public:
  static constexpr uint64_t kBytes = uint64_t{64} << 20;
  static constexpr uint64_t kAlignment = 64;  // alignment of payloads

  // Creates the memory, on the daemon's side. Throws Error.
  PushMemory();
  // Maps the memory on the trainer's side, from the descriptor that the daemon has sent. Throws
  // Error(kInvalid) if the descriptor is not push memory of this version.
  explicit PushMemory(UniqueFd fd);
  ~PushMemory();
  PushMemory(const PushMemory&) = delete;
  PushMemory& operator=(const PushMemory&) = delete;

  int fd() const noexcept { return fd_.get(); }
  std::byte* data() const noexcept { return data_; }

  // Allocates pages for the memory up to `end`, on huge pages if there are any. Used by the
  // trainer. Thread-safe.
  void TakeUpTo(uint64_t end) noexcept;

 private:
  void Map(int protection);

  UniqueFd fd_;
  std::byte* data_ = nullptr;
  Mutex mutex_;
  uint64_t taken_ GRAPHD_GUARDED_BY(mutex_) = 0;  // bytes
};

}  // namespace graphd
