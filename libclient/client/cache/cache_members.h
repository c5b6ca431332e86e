// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>

#include "client/cache/cache_memory.h"

namespace graphd {

// The processes of a machine that share a row cache, and the memory that they share.
//
// The memory has no name. A small file therefore lists the processes that have the memory, each
// with its descriptor, so that another process of the same user can open the memory by way of
// /proc. A process that joins drops the entries of processes that were killed. The last member
// removes the file; if it was killed, the next job replaces the file.
class CacheMembers {
 public:
  // Joins the processes that share rows of this key, or makes the memory if this process is the
  // first of them. The file is in `directory`. Throws what CacheMemory throws; Error(kDenied) if
  // the file does not belong to this user, or if a member that runs does not let this process open
  // its descriptors; Error(kCorrupt) if the file is damaged; Error(kUnavailable) if another process
  // holds its lock for ten seconds.
  CacheMembers(const std::string& directory, const CacheShape& shape);
  // Removes this process from the members.
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
