// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/index_builds.h"

namespace graphd {

kj::Promise<void> BuildIndexes(ComputePool& builds, const JobShare& job,
                               std::shared_ptr<EdgeIndexes> indexes,
                               std::vector<EdgeIndexSpec> specs) {
  if (specs.empty()) return kj::READY_NOW;
  return builds.Run(job, 1, [indexes, specs](size_t, WorkerScratch&) {
    for (const EdgeIndexSpec& spec : specs) indexes->Get(spec);
  });
}

kj::Promise<void> BuildSorted(ComputePool& builds, const JobShare& job,
                              std::shared_ptr<EdgeIndexes> indexes, EdgeTypeId etype) {
  if (indexes->KnowsSorted(etype)) return kj::READY_NOW;
  return builds.Run(job, 1, [indexes, etype](size_t, WorkerScratch&) { indexes->Sorted(etype); });
}

}  // namespace graphd
