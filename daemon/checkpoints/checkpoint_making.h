// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/threads/mutex.h"
#include "daemon/graph/served_graph.h"
#include "store/checkpoint/catalog.h"
#include "store/tensor_host.h"
#include "wire/memory/memory_account.h"

namespace graphd {

// A checkpoint that is being made. The caller calls Prepare, Hold and Take, then AddFile any number
// of times, then Commit. The methods wait for the disk. Shared by the client's MakingService and
// the calls under way. Thread-safe: each method holds one mutex until it returns.
class CheckpointMaking {
 public:
  // `graph` is the version whose rows are saved; `tensors` outlives this. Memory that this object
  // keeps is added to `charge`; if that is refused, methods throw Error(kOverloaded).
  CheckpointMaking(std::shared_ptr<const ServedGraph> graph, store::TensorHost& tensors,
                   MemoryCharge charge)
      : graph_(std::move(graph)), tensors_(tensors), charge_(std::move(charge)) {}
  CheckpointMaking(const CheckpointMaking&) = delete;
  CheckpointMaking& operator=(const CheckpointMaking&) = delete;

  // Chooses the persistent tensors of these names or, if there are no names, all that belong to
  // this version of the graph. Begins the checkpoint, and writes changed pages back, so that less
  // is left to do while pushes wait. Throws Error(kNotFound), Error(kInvalid) for a tensor of
  // another version, Error(kCorrupt), and what CheckpointSet::Begin throws.
  void Prepare(store::CheckpointCatalog& catalog, const std::string& name, const std::string& id,
               std::set<std::string> names);
  // Makes pushes (changes of rows) wait. Throws Error(kInvalid) if this was called before, and what
  // Store::HoldPushes throws.
  void Hold(store::HoldOptions options);
  // Writes the tensors and the original ids of their rows, and lets pushes go on. Returns the bytes
  // of the checkpoint. Throws Error(kInvalid) unless pushes are held.
  uint64_t Take();
  void AddFile(const std::string& file, uint64_t offset, std::span<const std::byte> data);
  // Throws Error(kInvalid) unless Take() has returned.
  void Commit(const std::string& manifest);
  // Lets pushes go on, and removes the files unless they were committed.
  void Abandon();

  // Returns the shares of tensors that the checkpoint contains. Requires: Take() has returned. The
  // shares don't change after that, so the mutex is not locked.
  const std::vector<TensorShare>& shares() const noexcept GRAPHD_NO_THREAD_SAFETY_ANALYSIS {
    return shares_;
  }

 private:
  const std::shared_ptr<const ServedGraph> graph_;
  store::TensorHost& tensors_;
  Mutex mutex_{Mutex::kHeldLong};
  MemoryCharge charge_ GRAPHD_GUARDED_BY(mutex_);
  std::unique_ptr<store::CheckpointSet::Making> making_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<TensorShare> shares_ GRAPHD_GUARDED_BY(mutex_);
  std::unique_ptr<store::WriteBarrierHold> hold_ GRAPHD_GUARDED_BY(mutex_);
  bool taken_ GRAPHD_GUARDED_BY(mutex_) = false;
};

}  // namespace graphd
