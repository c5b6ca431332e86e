// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/graph/graph_versions.h"
#include "daemon/options.h"
#include "daemon/restart/descriptor_store.h"
#include "daemon/restart/kept_graph.h"
#include "store/tensor_host.h"

// Functions that bring what a daemon serves into memory. They take seconds to hours. Each throws
// Error with what to do.

namespace graphd {

// Returns the version of the graph that this start serves: that of the last switch, if its note
// (SwitchRecord) holds, else the configured one. Takes over the partitions that an earlier process
// of this service left with the service manager, or loads them from their files, and builds the
// derived arrays that --index names. Gives all of it to the service manager, which it asks for more
// time meanwhile. `store` is used by this call alone meanwhile. `progress` is called with the bytes
// of the partitions that were read from their files.
VersionPtr LoadGraph(const DaemonOptions& options, DescriptorStore& store,
                     const std::function<void(uint64_t done, uint64_t total)>& progress);

// A version of the graph, and what the service manager has to keep of it. The latter is null if it
// has it already.
struct LoadedVersion {
  VersionPtr version;
  std::shared_ptr<const KeptGraph> kept;
};
// Loads another version beside `current`, under a new id. Checks first, in this order, that it has
// the same name and as many partitions, and that there is memory for it beside all that is in use.
// If it is the current one and no file has changed, nothing is loaded, and the memory is shared.
// `progress` may throw to end the loading.
LoadedVersion LoadAnother(const DaemonOptions& options, const std::string& part_config,
                          const std::string& id, const GraphVersion& current,
                          const std::function<void(uint64_t done, uint64_t total)>& progress);

// Lets the service manager keep the graph for the next process. A failure is logged, and costs no
// more than a longer start.
void KeepGraph(const KeptGraph& graph, DescriptorStore& store);

// Opens the tensors of these partitions. `next_process_follows` is called at their end, when
// another process may take their memory over.
std::unique_ptr<store::TensorHost> LoadTensors(const DaemonOptions& options,
                                               const ServedGraph& graph,
                                               std::function<bool()> next_process_follows);

}  // namespace graphd
