// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/fork.h"
#include "client/link/call_gate.h"
#include "client/link/restart_count.h"
#include "graphd/initialize.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/status.h"

namespace graphd {

// The connections of a DaemonLink; used on the RPC thread only.
struct DaemonConnections {
  // The number of calls that run at once. It is less than a daemon allows one session to have in
  // flight.
  static constexpr size_t kMaxRunning = 128;

  struct Attached {
    Attached(kj::LowLevelAsyncIoProvider& provider, ClientSocket socket,
             std::shared_ptr<BufferPool> buffers, std::function<void()> lost)
        : number(socket.fd.get()),
          connection(provider, std::move(socket), std::move(buffers)),
          closed_in_children(number),
          daemon(connection.Bootstrap()),
          gone(connection.OnDisconnect()
                   .then([lost = std::move(lost)] { lost(); })
                   .eagerlyEvaluate(nullptr)) {}
    // Sends the request `attach`, with which this process joins the job in this role. `version` is
    // the version of the graph that the job uses already.
    auto Attach(const Options& options, JobRole role, bool want_segments,
                const std::optional<std::string>& version) {
      auto request = daemon.attachRequest();
      WriteHello(request.initHello());
      request.setServerName(options.server_name);
      request.setWantSegments(want_segments);
      if (version) request.setWantVersion(*version);
      JobMember member;
      member.job_id = options.job_id;
      member.secret = options.job_secret;
      member.role = role;
      member.rank = options.rank;
      member.world_size = options.world_size;
      member.attempt = RestartCount();
      WriteMember(member, request.initMember());
      return request.send();
    }
    const int number;  // the connection's descriptor
    bool is_pinged = false;
    Connection connection;
    ClosedInChildren closed_in_children;
    wire::Daemon::Client daemon;
    kj::Promise<void> gone;
    kj::Promise<void> ping = kj::READY_NOW;
    kj::Maybe<wire::Session::Client> session;
    kj::Promise<void> telling = kj::READY_NOW;  // KeepTellingReads runs
    std::shared_ptr<CallGate> gate = std::make_shared<CallGate>(kMaxRunning);
  };
  std::unique_ptr<Attached> small, bulk;
  bool lost = false;  // true when one of the two is lost
};

}  // namespace graphd
