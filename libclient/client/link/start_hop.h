// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/link/daemon_link.h"
#include "sampling/hop_request.h"

namespace graphd {

// Sends one hop to a partition, in one message whatever it holds. `meta` is of the link's graph.
// Wait on the result; all arguments must live until then, and the RPC thread writes the answer.
RpcThread::Pending StartHop(DaemonLink& link, PartId part, const GraphMeta& meta,
                            const HopRequest& hop, const HopAnswer& answer);

}  // namespace graphd
