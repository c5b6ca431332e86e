// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>
#include <kj/timer.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/file.h"
#include "daemon/access/peer.h"
#include "daemon/access/user_directory.h"
#include "daemon/serving/connection_counters.h"
#include "daemon/serving/data_thread.h"
#include "daemon/serving/open_connections.h"
#include "daemon/serving/thread_choice.h"

namespace graphd {

// The limits on the connections that the daemon accepts. The main thread sets and reads them; a
// reload changes `connections` on the reloader's thread.
struct ConnectionLimits {
  std::atomic<uint64_t> connections{0};
  uint64_t descriptors = 0;  // limit of this process (RLIMIT_NOFILE)
  // Returns the number of descriptors that are not given to connections, because the tensor store
  // needs them for segments of its log, RocksDB's files (512) and new tables.
  uint64_t reserved_descriptors() const noexcept;
};

// The part of the daemon that hands each accepted connection to one of the data threads, unless a
// limit is reached. Owned and used by the main thread.
class Acceptor final : private kj::TaskSet::ErrorHandler {
 public:
  // `asks_for_users` is true if clients on this machine are identified only by the users who run
  // them, also over TCP. For TCP clients, the acceptor then looks up the groups of these users.
  Acceptor(std::deque<DataThread>& threads, const ConnectionLimits& limits,
           ConnectionCounters& counters, bool asks_for_users, kj::Timer& timer);

  // Lets a thread serve the peer, or closes the connection and logs why.
  void Accept(UniqueFd fd, Peer peer);

 private:
  // Returns whether the peer may be served, if need be in the place of another. Logs why not.
  bool FindRoom(const UniqueFd& fd, const Peer& peer);
  // Ends a connection in favour of the peer. Returns false if none gives way.
  bool MakeRoom(const Peer& peer);
  // Serves the peer on the connection's thread; the promise ends with the connection.
  kj::Promise<void> Serve(std::shared_ptr<OpenConnection> connection, UniqueFd fd, Peer peer);
  void taskFailed(kj::Exception&& exception) override;

  std::deque<DataThread>& threads_;
  const ConnectionLimits& limits_;
  ConnectionCounters& counters_;
  const bool asks_for_users_;
  kj::Timer& timer_;
  UserDirectory users_;
  ThreadChoice choice_;
  OpenConnections open_;
  kj::TaskSet connections_;
};

}  // namespace graphd
