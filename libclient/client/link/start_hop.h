// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/link/daemon_link.h"
#include "sampling/hop_request.h"

namespace graphd {

// Sends all requests of one hop to a partition, in a single message. `meta` describes the link's
// graph. The caller must call Wait on the result; all arguments must live until then, because the
// RPC thread writes the answer.
RpcThread::Pending StartHop(DaemonLink& link, PartId part, const GraphMeta& meta,
                            const HopRequest& hop, const HopAnswer& answer);

}  // namespace graphd
