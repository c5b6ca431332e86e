// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/timer.h>

#include <functional>
#include <memory>

#include "base/clock.h"
#include "daemon/access/access_rules.h"
#include "daemon/requests/request_context.h"
#include "daemon/serving/server_status.h"
#include "daemon/serving/service_context.h"
#include "wire/connection.h"
#include "wire/graphd.capnp.h"
#include "wire/loop_turns.h"

namespace graphd {

// The bootstrap interface of one connection: attaching, status and shutdown. Lives on the
// connection's data thread, and is owned by the connection and by the calls that have arrived.
class DaemonService final : public wire::Daemon::Server {
 public:
  // Calls `stays` before the client attaches, controls the server or reports about a job, so that
  // its connection gives way to no other. It returns false if the connection does so already.
  DaemonService(ServiceContext& context, const DaemonInfo& info, Peer peer, WorkerScratch& scratch,
                kj::Timer& timer, LoopTurns& turns, std::function<bool()> stays);
  // Sets the connection. Call once, before the first call can arrive.
  void SetConnection(Connection& connection) { connection_ = &connection; }
  // Notes that the connection ends. Calls that have arrived keep the service. Those that have not
  // begun may not attach, and those that wait for other clients fail.
  void Disconnect();
  bool is_attached() const noexcept { return attached_; }
  // Returns whether the connection should be closed because its client has not attached and makes
  // no calls.
  bool is_idle() const;
  // Returns whether the client has attached, but a reload has since taken away its right to attach.
  bool has_lost_access() const;
  // Returns a promise that is fulfilled when an operator has ended the job of this connection. Call
  // once.
  kj::Promise<void> WhenEnded() { return kj::mv(ended_.promise); }

 protected:
  kj::Promise<void> attach(AttachContext context) override;
  kj::Promise<void> status(StatusContext context) override;
  kj::Promise<void> shutdown(ShutdownContext context) override;
  kj::Promise<void> report(ReportContext context) override;
  kj::Promise<void> control(ControlContext context) override;
  kj::Promise<void> ping(PingContext context) override;

 private:
  // Throws Error(kOverloaded) if there are more segments than one message can carry descriptors.
  static void CheckDescriptors(const ServedGraph& graph);
  static void WriteOwners(const ServedGraph& graph, bool want_segments, wire::Graph::Builder out);
  static void WritePartitions(const ServedGraph& graph, bool want_segments,
                              wire::Daemon::AttachResults::Builder results);
  void NoteCall();
  // Makes the connection stay. Throws Error(kUnavailable) if it ends or has ended.
  void Stay();
  // Answers with the status. Makes it on a pool, because looking at all jobs, tensors and records
  // takes many milliseconds if there are thousands.
  kj::Promise<void> TellStatus(StatusContext context);
  // Writes to the log that a client could not attach to a job.
  void LogRefused(capnp::Text::Reader job, const Error& error) const;

  ServiceContext& context_;
  const DaemonInfo& info_;
  Peer peer_;
  WorkerScratch& scratch_;
  kj::Timer& timer_;
  LoopTurns& turns_;
  const std::function<bool()> stays_;
  Connection* connection_ = nullptr;        // null when it has ended
  std::weak_ptr<RequestContext> requests_;  // those of the session, while it exists
  // A promise that is fulfilled by the thread on which an operator ends the job.
  struct Ending {
    kj::Promise<void> promise;
    std::function<void()> fulfill;
  };
  static Ending NewEnding();
  Ending ended_ = NewEnding();
  // The time of the last call, initially that of the connection. Capabilities that the client has
  // got set it, too, and may live longer than this service.
  const std::shared_ptr<Clock::time_point> last_call_ =
      std::make_shared<Clock::time_point>(Clock::now());
  int statuses_ = 0;  // calls of `status` that are not answered yet
  bool called_ = false;
  bool attached_ = false;  // one session per connection, so that its limits hold
};

}  // namespace graphd
