// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "client/link/daemon_link.h"

namespace graphd {

// Starts a call that enters the barrier of the job. The daemon answers with an error if the barrier
// is not complete after the timeout. The caller must call Wait on the result. Calls that enter the
// same barrier again have the same `entry`. `passed` is the number of the last barrier that this
// trainer has passed, and becomes that of this barrier.
RpcThread::Pending StartBarrier(DaemonLink& link, std::chrono::milliseconds timeout, uint64_t entry,
                                uint64_t& passed);

}  // namespace graphd
