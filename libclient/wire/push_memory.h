// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "base/file.h"

namespace graphd {

// Memory that a trainer and a daemon of the same machine share for one session: the trainer writes
// the rows of a push there and sends only where they lie, so they are not copied through a socket.
// The daemon makes it, and sees what is written; it trusts nothing of it but that it is there.
// The trainer takes pages of it before it first writes to them.
class PushMemory {
 public:
  static constexpr uint64_t kBytes = uint64_t{64} << 20;
  static constexpr uint64_t kAlignment = 64;  // of what lies in it

  // The daemon's. Throws Error.
  PushMemory();
  // The trainer's, of the descriptor that it got. Throws Error: kInvalid if that is something else.
  explicit PushMemory(UniqueFd fd);
  ~PushMemory();
  PushMemory(const PushMemory&) = delete;
  PushMemory& operator=(const PushMemory&) = delete;

  int fd() const noexcept { return fd_.get(); }
  std::byte* data() const noexcept { return data_; }

  // The trainer's: has memory up to `end`, on large pages if there are any. Thread-safe.
  void TakeUpTo(uint64_t end) noexcept;

 private:
  void Map(int protection);

  UniqueFd fd_;
  std::byte* data_ = nullptr;
  std::mutex mutex_;
  uint64_t taken_ = 0;  // bytes, guarded by mutex_
};

}  // namespace graphd
