// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/threads/mutex.h"
#include "store/checkpoint/set.h"

// The checkpoints that one server can reach on its machine: its own set, and the sets of other
// servers, which served other partitions or another partitioning of a graph of the same name. The
// catalog is a directory with one directory per set. Thread-safe.

namespace graphd::store {

class CheckpointCatalog {
 public:
  // `own` is the name of the server's own set, which is created when it is needed. Throws
  // Error(kIo).
  CheckpointCatalog(std::string root, std::string own);

  CheckpointSet& own();
  // Returns all sets that exist now, the own one first.
  std::vector<std::shared_ptr<CheckpointSet>> All();

 private:
  const std::string root_, own_;
  Mutex mutex_;
  std::map<std::string, std::shared_ptr<CheckpointSet>> sets_ GRAPHD_GUARDED_BY(mutex_);
};

}  // namespace graphd::store
