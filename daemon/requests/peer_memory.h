// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/threads/mutex.h"
#include "wire/memory/memory_account.h"

namespace graphd {

// The memory that the daemon holds because of its clients. Each connection has an account, whose
// bytes also count towards the account of its job (or of clients without a job) and the account of
// all clients. Owned by the main thread; thread-safe.
class PeerMemory {
 public:
  explicit PeerMemory(uint64_t limit);
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  // Returns a new account for a connection that has not attached.
  std::shared_ptr<MemoryAccount> OfUnattached(const std::string& peer);
  // Returns a new account for a connection of a job.
  std::shared_ptr<MemoryAccount> OfMember(const std::string& job, const std::string& peer);
  // Returns the bytes that are charged to a job.
  size_t UsedBy(const std::string& job) const;
  // Returns the bytes that are charged in all.
  size_t used() const noexcept { return all_->used(); }
  size_t limit() const noexcept { return all_->limit(); }
  // Sets the limit. If it is lower than what is charged already, the excess stays until it is
  // released.
  void SetLimit(uint64_t limit) noexcept { all_->SetLimit(limit); }

  // Returns the limit for a machine or a cgroup with this memory: an eighth of the memory or 2 GiB,
  // whichever is more, but at most half of the memory.
  static uint64_t DefaultLimit(uint64_t memory);

 private:
  const std::shared_ptr<MemoryAccount> all_, unattached_;
  mutable Mutex mutex_;
  // The accounts of jobs. An account ends with its job's last connection and last request.
  std::map<std::string, std::weak_ptr<MemoryAccount>> jobs_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd
