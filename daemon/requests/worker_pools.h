// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>

#include "daemon/requests/compute_pool.h"

namespace graphd {

// The daemon's thread pools, one for each kind of work, so that slow work delays only its own kind.
// Owned by the main thread, which makes and stops it; each pool is thread-safe.
class WorkerPools {
 public:
  // `memory_is_bounded` tells whether tensors have a memory limit; if so, changes and reads of rows
  // may have to wait.
  WorkerPools(size_t compute_threads, bool memory_is_bounded);
  WorkerPools(const WorkerPools&) = delete;
  WorkerPools& operator=(const WorkerPools&) = delete;

  // Stops all pools; see ComputePool::Stop. Idempotent.
  void Stop();

  ComputePool compute;
  // The pools for reads and changes of tensor rows, which may wait for memory or for a full disk.
  // No other requests wait behind them, and reads do not wait behind changes. The pools have no
  // threads if memory is not bounded.
  ComputePool row_reads, row_changes;
  ComputePool builds;   // one thread, for derived arrays: building one takes seconds
  ComputePool records;  // one thread: opens, changes and drops tensors, and looks at all memory
  ComputePool saves;    // checkpoints, which take as long as the disk needs
  ComputePool status;   // one thread, for the daemon's status, even while other pools hang
};

}  // namespace graphd
