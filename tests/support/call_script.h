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

// A client's stream, made message by message: question 0 is the bootstrap interface, and the first
// call is question 1. If it is Attach, calls of the session that attach returns can follow.
class CallScript {
 public:
  CallScript() {
    Add([](capnp::rpc::Message::Builder message) { message.initBootstrap().setQuestionId(0); });
  }
  template <class Params, class Fill>
  void CallDaemon(uint16_t method, Fill&& fill) {
    Call<Params>(capnp::typeId<wire::Daemon>(), method, 0, -1, fill);
  }
  template <class Params, class Fill>
  void CallSession(uint16_t method, Fill&& fill) {
    Call<Params>(capnp::typeId<wire::Session>(), method, 1, kSessionField, fill);
  }
  // Calls the capability that is the first result of a question.
  template <class Params, class Fill>
  void CallAnswer(uint64_t interface, uint16_t method, uint32_t question, Fill&& fill) {
    Call<Params>(interface, method, question, 0, fill);
  }
  void Attach(const std::string& job, bool wants_segments = false, int world_size = 1) {
    CallDaemon<wire::Daemon::AttachParams>(0, [&](wire::Daemon::AttachParams::Builder params) {
      WriteHello(params.initHello());
      auto member = params.initMember();
      member.setJobId(job);
      member.setWorldSize(world_size);
      params.setWantSegments(wants_segments);
    });
  }
  void Status() {
    CallDaemon<wire::Daemon::StatusParams>(1, [](auto params) { WriteHello(params.initHello()); });
  }
  uint32_t last_question() const noexcept { return next_ - 1; }
  // Gives the next call this question's id, which may be in use already.
  void UseQuestion(uint32_t question) noexcept { next_ = question; }
  // Lets the daemon forget a call.
  void Finish(uint32_t question) {
    Add([&](capnp::rpc::Message::Builder message) {
      message.initFinish().setQuestionId(question);
    });
  }
  // Returns the bytes of the messages since the last call of TakeBytes.
  std::string TakeBytes() { return std::exchange(bytes_, {}); }

 private:
  static constexpr int kSessionField = 3;  // pointer number of `session` in attach's results

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
