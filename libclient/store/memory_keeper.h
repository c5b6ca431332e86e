// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/file.h"

namespace graphd::store {

// A keeper of the memory of tables between two processes of a service: it has copies of
// descriptors, by their names, and passes them to the next process. The daemon's one is the service
// manager. Implementations are thread-safe.
class MemoryKeeper {
 public:
  MemoryKeeper() = default;
  virtual ~MemoryKeeper() = default;
  MemoryKeeper(const MemoryKeeper&) = delete;
  MemoryKeeper& operator=(const MemoryKeeper&) = delete;

  // Returns the descriptor of this name that an earlier process has given to the keeper, which
  // still has its own copy; empty if there is none.
  virtual UniqueFd Take(const std::string& name) = 0;
  // Gives it a descriptor. Returns an empty text once the keeper has it for certain, or else why it
  // does not, and then it has none of this name.
  virtual std::string Keep(const std::string& name, int fd) = 0;
  // Lets the keeper close its copy.
  virtual void Remove(const std::string& name) noexcept = 0;
  // Returns whether this process gets what the keeper has.
  virtual bool passes_descriptors() const noexcept = 0;
  // Returns whether the next process follows at once, and gets what the keeper has.
  virtual bool next_process_follows() const noexcept = 0;
};

}  // namespace graphd::store
