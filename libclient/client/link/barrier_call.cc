// SPDX-License-Identifier: Apache-2.0
#include "client/link/barrier_call.h"

namespace graphd {

RpcThread::Pending StartBarrier(DaemonLink& link) {
  return link.StartSteps(DaemonLink::Lane::kSmall, 1, [](wire::Session::Client& session, size_t) {
    return session.barrierRequest().send().ignoreResult();
  });
}

}  // namespace graphd
