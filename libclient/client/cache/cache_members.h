// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "client/cache/cache_memory.h"

namespace graphd {

// The processes of a machine that share a row cache, and the memory that they share.
//
// A small file says which processes have the memory and under which descriptor, so that another
// process of the same user finds it by way of /proc: memory itself has no name. Entries of
// processes that were killed are dropped by the next one that joins. The file is removed with the
// last member, or, if that was killed, replaced by the next job's.
class CacheMembers {
 public:
  // Joins the processes that share rows of this key, or makes memory and is the first of them. The
  // file is in `directory`. Throws what CacheMemory throws; Error(kDenied) if the file is not this
  // user's, or if a living member of this user does not let others open its descriptors;
  // Error(kCorrupt) if the file is damaged; Error(kUnavailable) if another process holds its lock
  // for ten seconds.
  CacheMembers(const std::string& directory, const CacheShape& shape);
  // Leaves.
  ~CacheMembers();
  CacheMembers(const CacheMembers&) = delete;
  CacheMembers& operator=(const CacheMembers&) = delete;

  CacheMemory& memory() const noexcept { return *memory_; }
  const std::string& path() const noexcept { return path_; }

  // The directory for the files of this machine: a tmpfs that exists wherever shared memory does.
  static constexpr const char* kDirectory = "/dev/shm";

 private:
  std::string path_;
  std::unique_ptr<CacheMemory> memory_;
  std::string entry_;  // this process's line
};

}  // namespace graphd
