// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/link/daemon_link.h"

namespace graphd {

// Starts a call that enters the barrier of the job. The daemon answers with an error if the barrier
// is not complete after the timeout. The caller must call Wait on the result.
RpcThread::Pending StartBarrier(DaemonLink& link, std::chrono::milliseconds timeout);

}  // namespace graphd
