// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "daemon/serving/daemon_service.h"
#include "daemon/serving/loop_beat.h"
#include "daemon/serving/open_connections.h"
#include "wire/loop_thread.h"
#include "wire/loop_turns.h"

namespace graphd {

// A thread with its own KJ event loop that serves the connections passed to it; their capabilities
// never leave it. Constructed, used and destroyed by the main thread.
class DataThread {
 public:
  DataThread(ServiceContext& context, const DaemonInfo& info)
      : context_(context), info_(info), loop_([this] { turns_.reset(); }) {}
  DataThread(const DataThread&) = delete;
  DataThread& operator=(const DataThread&) = delete;

  // Takes over an accepted, non-blocking socket. The promise, on the caller's event loop, is
  // fulfilled when the connection has ended. Call on a thread with an event loop.
  kj::Promise<void> Serve(UniqueFd fd, Peer peer, std::shared_ptr<OpenConnection> connection);
  // Ends a connection that Serve serves, if it has not ended. Call on a thread with an event loop.
  kj::Promise<void> End(std::shared_ptr<OpenConnection> connection);

  // Calls BeatOf for the thread's event loop.
  kj::Promise<void> Beat(std::string name) { return BeatOf(loop_, std::move(name)); }

 private:
  // Serve a connection on the loop's thread, before and after a handshake. `entry` may be null;
  // `number` is the socket's descriptor.
  kj::Promise<void> ServeSocket(UniqueFd fd, Peer peer, std::shared_ptr<OpenConnection> connection);
  kj::Promise<void> ServeStream(kj::Own<kj::AsyncIoStream> stream, Peer peer,
                                std::unique_ptr<LivingCertificates::Entry> entry, int number,
                                std::shared_ptr<OpenConnection> connection);

  // Returns the turns of the loop, and makes them first. Called on the loop's thread.
  LoopTurns& Turns();

  ServiceContext& context_;
  const DaemonInfo& info_;
  // Used on the loop's thread only.
  WorkerScratch scratch_;
  std::optional<LoopTurns> turns_;  // since the first connection

  LoopThread loop_;  // last, because its thread uses the others
};

}  // namespace graphd
