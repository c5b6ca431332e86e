// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/link/daemon_link.h"

namespace graphd {

// Enters the barrier of the job. The daemon fails the barrier after the timeout. The caller must
// call Wait on the result.
RpcThread::Pending StartBarrier(DaemonLink& link, std::chrono::milliseconds timeout);

}  // namespace graphd
