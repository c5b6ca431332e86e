// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "daemon/serving/server_status.h"
#include "daemon/serving/service_context.h"
#include "wire/control.capnp.h"

namespace graphd {

// The interface by which one operator's connection controls the daemon. Lives on the connection's
// data thread. The operator's role is checked again at each call, because a reload may have taken
// it away.
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
  // Returns the result of `call`, or the Error that it throws. Fails if the peer is no operator.
  template <class Call>
  kj::Promise<void> IfOperator(const char* action, Call&& call);
  // Returns the operator's name for messages. It has the name that the operator's graphctl gives,
  // and the user that the kernel reports.
  std::string NameOf(capnp::Text::Reader by) const;

  ServiceContext& context_;
  const DaemonInfo& info_;
  const Peer peer_;
};

}  // namespace graphd
