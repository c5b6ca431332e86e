// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>

#include "client/link/daemon_link.h"
#include "sampling/index/edge_index.h"

namespace graphd {

// Maps a derived array in the daemon's memory. Waits until the daemon has built it.
std::shared_ptr<const Segment> MapIndex(DaemonLink& link, PartId part, const EdgeIndexSpec& spec);

}  // namespace graphd
