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

// Functions that load a daemon's graph and tensors into memory. They take seconds to hours. The
// errors that they throw say what to do.

namespace graphd {

// Returns the version of the graph that this process serves when it starts: the version of the last
// switch (`graphctl server switch`), if the note about it still counts (SwitchRecord::Holds), and
// otherwise the configured version. Takes over the partitions that an earlier process of this
// service left with the service manager, or loads them from their files. Builds the derived arrays
// that --index names. Gives all of these to the service manager, and asks it for more time while
// they are made. Arrays are built within `index_memory`. Nobody else may use `store` during the
// call. `progress` is called with the number of bytes that were read from the partitions' files,
// and with the number of all bytes.
VersionPtr LoadGraph(const DaemonOptions& options, const ServedGraph::IndexMemory& index_memory,
                     DescriptorStore& store,
                     const std::function<void(uint64_t done, uint64_t total)>& progress);

// A version of the graph, and its data for the service manager to keep; `kept` is null if the
// service manager has the data already.
struct LoadedVersion {
  VersionPtr version;
  std::shared_ptr<const KeptGraph> kept;
};
// Loads another version beside `current`, under a new id. First checks, in this order, that its
// graph has the same name and the same number of partitions, and that there is enough memory for it
// beside all memory in use. If `part_config` is that of `current` and no file has changed, loads
// nothing, and shares the memory of `current`. `progress` may throw to end the loading.
LoadedVersion LoadAnother(const DaemonOptions& options,
                          const ServedGraph::IndexMemory& index_memory,
                          const std::string& part_config, const std::string& id,
                          const GraphVersion& current,
                          const std::function<void(uint64_t done, uint64_t total)>& progress);

// Lets the service manager keep the graph for the next process. A failure is only logged: the next
// process then loads the graph from its files, which takes longer.
void KeepGraph(const KeptGraph& graph, DescriptorStore& store);

// Opens the distributed tensors of the graph's partitions on this daemon. When the tensors are
// closed, `next_process_follows` is called to ask whether another process will take over their
// memory.
std::unique_ptr<store::TensorHost> LoadTensors(const DaemonOptions& options,
                                               const ServedGraph& graph,
                                               std::function<bool()> next_process_follows);

}  // namespace graphd
