// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "client/link/daemon_link.h"
#include "sampling/index/edge_index.h"

namespace graphd {

// Maps an edge index, an array that the daemon derives from the partition's edges and keeps in its
// memory. Waits until the daemon has built it.
std::shared_ptr<const Segment> MapIndex(DaemonLink& link, PartId part, const EdgeIndexSpec& spec);

}  // namespace graphd
