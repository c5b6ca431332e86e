// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/link/daemon_link.h"

namespace graphd {

// Enters the barrier of the job. Wait on the result.
RpcThread::Pending StartBarrier(DaemonLink& link);

}  // namespace graphd
