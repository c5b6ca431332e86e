// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>

#include <string>
#include <utility>

#include "wire/graph_messages.h"
#include "wire/graphd.capnp.h"

namespace graphd::testing {

// A client's stream of messages, which begins with the call of the bootstrap interface, question 0.
class CallScript {
 public:
  CallScript() {
    Add([](capnp::rpc::Message::Builder message) { message.initBootstrap().setQuestionId(0); });
  }
  // Attaches; must be the first call, so that it is question 1, in whose answer Slice looks for the
  // session.
  void Attach(const std::string& job) {
    Call<wire::Daemon::AttachParams>(capnp::typeId<wire::Daemon>(), 0, 0, -1,
                                     [&](wire::Daemon::AttachParams::Builder params) {
                                       WriteHello(params.initHello());
                                       auto member = params.initMember();
                                       member.setJobId(job);
                                       member.setWorldSize(1);
                                     });
  }
  void Status() {
    Call<wire::Daemon::StatusParams>(capnp::typeId<wire::Daemon>(), 1, 0, -1,
                                     [](auto params) { WriteHello(params.initHello()); });
  }
  void Slice(int part, int64_t rows) {
    Call<wire::Session::SliceParams>(capnp::typeId<wire::Session>(), 2, 1, 3,
                                     [&](wire::Session::SliceParams::Builder params) {
                                       params.setPart(part);
                                       params.setName("orig_id");
                                       params.setCount(rows);
                                     });
  }
  // Lets the daemon forget the call before the latest `behind` ones.
  void Finish(uint32_t behind) {
    Add([&](capnp::rpc::Message::Builder message) {
      message.initFinish().setQuestionId(next_ - 1 - behind);
    });
  }
  // Returns the bytes of the messages since the last call.
  std::string TakeBytes() { return std::exchange(bytes_, {}); }

 private:
  template <class Fill>
  void Add(Fill&& fill) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<capnp::rpc::Message>());
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    bytes_.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  }
  template <class Params, class Fill>
  void Call(uint64_t interface, uint16_t method, uint32_t target, int field, Fill&& fill) {
    Add([&](capnp::rpc::Message::Builder message) {
      auto call = message.initCall();
      call.setQuestionId(next_++);
      auto answer = call.initTarget().initPromisedAnswer();
      answer.setQuestionId(target);
      if (field >= 0) answer.initTransform(1)[0].setGetPointerField(static_cast<uint16_t>(field));
      call.setInterfaceId(interface);
      call.setMethodId(method);
      fill(call.initParams().getContent().initAs<Params>());
    });
  }

  uint32_t next_ = 1;
  std::string bytes_;
};

}  // namespace graphd::testing
