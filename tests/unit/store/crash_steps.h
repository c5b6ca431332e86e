// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "store/store.h"

// The work of the process that crash_test kills. Each client pushes Adagrad gradients to rows of
// its own and counts its pushes in another table, so the contents of a store after any crash follow
// from the number of pushes that it has seen.

namespace graphd::store {

constexpr uint64_t kCrashClients = 3;

// The message that the process writes to a pipe when a step is done.
struct Acknowledged {
  uint64_t client, step;
};

// A memory budget smaller than the tables, but large enough for a client's step.
constexpr uint64_t kCrashMemory = 332'000;  // an eighth is for RocksDB

// A PersistentArena is used unless `memory_dir` is empty.
StoreOptions CrashOptions(const std::string& directory, uint64_t memory_bytes,
                          const std::string& memory_dir = "");
void OpenCrashTables(Store& store);
// Does a client's step (1, 2 ...): pushes gradients for a hundred rows, then adds one to its
// counter.
void CrashStep(Store& store, uint64_t client, uint64_t step);

}  // namespace graphd::store
