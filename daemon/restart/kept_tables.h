// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <map>
#include <string>

#include "base/file.h"
#include "base/mutex.h"
#include "daemon/restart/descriptor_store.h"
#include "store/memory_keeper.h"

namespace graphd {

// The memory of tensors that the service manager keeps for the next process: one descriptor, of a
// directory in a tmpfs that a drop-in of the unit mounts for each process (kept-memory.conf), which
// is off by default. Thread-safe.
class KeptTables final : public store::MemoryKeeper {
 public:
  // Takes what an earlier process of this service left.
  explicit KeptTables(DescriptorStore& descriptors);

  // Returns the tmpfs that the unit has mounted for this process, or an empty text if the service
  // manager keeps nothing, or its unit mounts none.
  static std::string PrivateTmpfs();

  UniqueFd Take(const std::string& name) override;
  std::string Keep(const std::string& name, int fd) override;
  void Remove(const std::string& name) noexcept override;
  bool passes_descriptors() const noexcept override { return DescriptorStore::available(); }
  bool next_process_follows() const noexcept override { return next_follows_; }
  void SetNextProcessFollows(bool follows) noexcept { next_follows_ = follows; }

  // Lets the service manager close what no database names, and logs the reason. Call it once the
  // store is open, if there is one.
  void RemoveUseless();
  // Returns whether the service manager has memory of tensors.
  bool any() const;
  // Returns whether it may have rows that are nowhere else.
  bool is_needed() const noexcept;
  // Asks the service manager for a minute more before it kills this process.
  static void ExtendTimeout() noexcept;
  // Copies memory that a database still needs to /dev/shm: this process ends, and the service
  // manager may free what it has. Returns whether all of it is safe then; what can't be copied is
  // logged. Nothing uses the memory meanwhile.
  bool Rescue() noexcept;

 private:
  mutable Mutex mutex_;
  std::map<std::string, UniqueFd> kept_ GRAPHD_GUARDED_BY(mutex_);  // copies of the manager's
  std::atomic<bool> next_follows_ = false;  // the main thread sets it; write-back's and ~Store ask
};

}  // namespace graphd
