// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "daemon/serving/server_status.h"
#include "daemon/serving/service_context.h"
#include "wire/control.capnp.h"

namespace graphd {

// The interface of one operator's connection, by which the daemon is controlled. Lives on the
// connection's data thread. The role is checked again at each call, because a reload may take it
// away.
class ControlService final : public wire::Control::Server {
 public:
  // `context` and `info` outlive every connection.
  ControlService(ServiceContext& context, const DaemonInfo& info, Peer peer)
      : context_(context), info_(info), peer_(std::move(peer)) {}

 protected:
  kj::Promise<void> drain(DrainContext context) override;
  kj::Promise<void> endJob(EndJobContext context) override;
  kj::Promise<void> setLogLevel(SetLogLevelContext context) override;
  kj::Promise<void> reload(ReloadContext context) override;
  kj::Promise<void> requests(RequestsContext context) override;
  kj::Promise<void> memory(MemoryContext context) override;
  kj::Promise<void> prepareSwitch(PrepareSwitchContext context) override;

 private:
  // Returns what `call` returns, or the Error that it throws, if the peer is an operator.
  template <class Call>
  kj::Promise<void> IfOperator(const char* action, Call&& call);
  // Returns the operator's name for messages, from what its graphctl says and what the kernel says.
  std::string NameOf(capnp::Text::Reader by) const;

  ServiceContext& context_;
  const DaemonInfo& info_;
  const Peer peer_;
};

}  // namespace graphd
