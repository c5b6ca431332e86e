// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/worker_pools.h"

namespace graphd {
namespace {

constexpr size_t kMaxQueuedRequests = 4096;
constexpr size_t kSaveThreads = 2;

}  // namespace

WorkerPools::WorkerPools(size_t compute_threads, bool memory_is_bounded)
    : compute("compute", compute_threads, kMaxQueuedRequests),
      row_reads("row reads", memory_is_bounded ? compute_threads : 0, kMaxQueuedRequests),
      row_changes("row changes", memory_is_bounded ? compute_threads : 0, kMaxQueuedRequests),
      builds("builds", 1, kMaxQueuedRequests),
      records("records", 1, kMaxQueuedRequests),
      saves("saves", kSaveThreads, kMaxQueuedRequests),
      status("status", 1, kMaxQueuedRequests) {}

void WorkerPools::Stop() {
  builds.Stop();
  records.Stop();
  saves.Stop();
  row_changes.Stop();
  row_reads.Stop();
  compute.Stop();
  status.Stop();
}

}  // namespace graphd
