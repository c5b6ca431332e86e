// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <utility>

#include "daemon/access/access_rules.h"
#include "daemon/serving/server_status.h"
#include "daemon/serving/service_context.h"
#include "wire/control.capnp.h"

namespace graphd {

// The beginning of each call of an operator: it tells the connection that its client is not idle,
// and checks the operator's role again, because a reload may have taken it away.
class OperatorCalls {
 public:
  // `access` outlives every connection. `note_call` may be called after the connection has ended.
  OperatorCalls(const AccessRules& access, Peer peer, std::function<void()> note_call)
      : access_(access), peer_(std::move(peer)), note_call_(std::move(note_call)) {}
  // Throws Error(kDenied) if the peer is no operator. `action` completes "may not".
  void Begin(const char* action) const {
    note_call_();
    access_.Require(peer_, Role::kOperator, action);
  }
  const Peer& peer() const noexcept { return peer_; }

 private:
  const AccessRules& access_;
  const Peer peer_;
  const std::function<void()> note_call_;
};

// The interface by which one operator's connection controls the daemon. Lives on the connection's
// data thread.
class ControlService final : public wire::Control::Server {
 public:
  // `context` and `info` outlive every connection.
  ControlService(ServiceContext& context, const DaemonInfo& info, OperatorCalls calls)
      : context_(context), info_(info), calls_(std::move(calls)) {}

 protected:
  kj::Promise<void> drain(DrainContext context) override;
  kj::Promise<void> endJob(EndJobContext context) override;
  kj::Promise<void> setLogLevel(SetLogLevelContext context) override;
  kj::Promise<void> reload(ReloadContext context) override;
  kj::Promise<void> requests(RequestsContext context) override;
  kj::Promise<void> memory(MemoryContext context) override;
  kj::Promise<void> prepareSwitch(PrepareSwitchContext context) override;

 private:
  // Returns the result of `call`, or the Error that it throws. Fails if the peer is no operator.
  template <class Call>
  kj::Promise<void> IfOperator(const char* action, Call&& call);
  // Returns the operator's name for messages. It has the name that the operator's graphctl gives,
  // and the user that the kernel reports.
  std::string NameOf(capnp::Text::Reader by) const;

  ServiceContext& context_;
  const DaemonInfo& info_;
  const OperatorCalls calls_;
};

}  // namespace graphd
