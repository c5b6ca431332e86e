// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "daemon/graph/served_graph.h"
#include "daemon/options.h"
#include "daemon/restart/descriptor_store.h"
#include "store/tensor_host.h"

// Functions that bring what a daemon serves into memory. They take seconds to hours, and ask the
// service manager for more time meanwhile. Each throws Error with what to do.

namespace graphd {

// Takes over the partitions that an earlier process of this service left with the service manager,
// or loads them from their files, and builds the derived arrays that --index names. Gives all of it
// to the service manager. `store` is used by this call alone meanwhile.
std::unique_ptr<ServedGraph> LoadGraph(const DaemonOptions& options, DescriptorStore& store);

// Opens the tensors of these partitions.
std::unique_ptr<store::TensorHost> LoadTensors(const DaemonOptions& options,
                                               const ServedGraph& graph);

}  // namespace graphd
