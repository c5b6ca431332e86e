// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "store/store.h"

// What the process does that crash_test kills, and what it must have done. Each client pushes
// Adagrad gradients to rows of its own and counts its pushes in another table, so what a store must
// hold after any crash can be worked out from the number of pushes that it has seen.

namespace graphd::store {

constexpr uint64_t kCrashClients = 3;

// Told through a pipe by the process when a step is done.
struct Acknowledged {
  uint64_t client, step;
};

// Less memory than the tables take, but enough for a client's step.
constexpr uint64_t kCrashMemory = 332'000;  // an eighth is RocksDB's

// `memory_dir`: for memory that lasts; empty: it does not.
StoreOptions CrashOptions(const std::string& directory, uint64_t memory_bytes,
                          const std::string& memory_dir = "");
void OpenCrashTables(Store& store);
// A client's step (1, 2 ...): gradients for a hundred rows, then one more on its counter.
void CrashStep(Store& store, uint64_t client, uint64_t step);

}  // namespace graphd::store
