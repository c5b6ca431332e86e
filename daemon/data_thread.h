// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <thread>

#include "daemon/daemon_service.h"

namespace graphd {

// A thread with its own KJ event loop, serving the connections handed to it; their capabilities
// never leave it. Constructed, used and destroyed by the main thread.
class DataThread {
 public:
  DataThread(ServiceContext& context, const DaemonInfo& info);
  // Drops all connections and joins.
  ~DataThread();
  DataThread(const DataThread&) = delete;
  DataThread& operator=(const DataThread&) = delete;

  // Takes over an accepted, non-blocking socket. The promise, on the caller's event loop, is done
  // when the peer has gone. Call on a thread with an event loop.
  kj::Promise<void> Serve(UniqueFd fd, Peer peer);

 private:
  ServiceContext& context_;
  const DaemonInfo& info_;
  // Made by the thread before the constructor returns.
  kj::Own<const kj::Executor> executor_;
  kj::Own<kj::CrossThreadPromiseFulfiller<void>> stop_;
  kj::LowLevelAsyncIoProvider* provider_ = nullptr;  // used on the thread only
  WorkerScratch scratch_;                            // used on the thread only
  std::thread thread_;
};

}  // namespace graphd
