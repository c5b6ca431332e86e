// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "store/checkpoint/set.h"

// The checkpoints that one server can reach on its machine: its own set, and those of others of its
// name, which served other partitions of the same graph, or the graph cut in another way. A
// directory with a set for each. Thread-safe.

namespace graphd::store {

class CheckpointCatalog {
 public:
  // `own` names the own set, which is made when it is needed. Throws Error(kIo).
  CheckpointCatalog(std::string root, std::string own);

  CheckpointSet& own();
  // All there are now, the own first.
  std::vector<std::shared_ptr<CheckpointSet>> All();

 private:
  const std::string root_, own_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<CheckpointSet>> sets_;
};

}  // namespace graphd::store
