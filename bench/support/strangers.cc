// SPDX-License-Identifier: Apache-2.0
#include "bench/support/strangers.h"

#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "graphd/error.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"

namespace graphd::bench {
namespace {

constexpr uid_t kNobody = 65534;
constexpr size_t kCalls = 100;
constexpr size_t kReadBytes = size_t{64} << 10;

void Append(capnp::MessageBuilder& message, std::string& to) {
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  to.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
}

std::string Bootstrap() {
  std::string bytes;
  capnp::MallocMessageBuilder message;
  message.initRoot<capnp::rpc::Message>().initBootstrap().setQuestionId(0);
  Append(message, bytes);
  return bytes;
}

// Returns the messages that a connection sends again and again: calls of status, and their ends,
// after which the numbers of the calls may be used again.
std::string Calls() {
  std::string calls;
  for (uint32_t i = 1; i <= kCalls; i++) {
    capnp::MallocMessageBuilder message;
    auto call = message.initRoot<capnp::rpc::Message>().initCall();
    call.setQuestionId(i);
    call.initTarget().initPromisedAnswer().setQuestionId(0);
    call.setInterfaceId(capnp::typeId<wire::Daemon>());
    call.setMethodId(1);  // status
    WriteHello(call.initParams().getContent().initAs<wire::Daemon::StatusParams>().initHello());
    Append(message, calls);
  }
  for (uint32_t i = 1; i <= kCalls; i++) {
    capnp::MallocMessageBuilder message;
    message.initRoot<capnp::rpc::Message>().initFinish().setQuestionId(i);
    Append(message, calls);
  }
  return calls;
}

}  // namespace

Strangers::Strangers(uint16_t port, size_t connections)
    : port_(port),
      bootstrap_(Bootstrap()),
      calls_(Calls()),
      answers_(kReadBytes, '\0'),
      connections_(connections) {
  // The functions of glibc would change all threads of the process.
  if (::geteuid() == 0) {
    ::syscall(SYS_setgroups, 0, nullptr);
    ::syscall(SYS_setresgid, kNobody, kNobody, kNobody);
    ::syscall(SYS_setresuid, kNobody, kNobody, kNobody);
  }
}

size_t Strangers::Send() {
  size_t answered = 0;
  for (Connection& each : connections_) {
    if (!each.fd) {
      try {
        each = {ConnectTcp("127.0.0.1", port_, 2000).fd, 0};
      } catch (const Error&) {  // the daemon refuses more connections for now
        continue;
      }
      ::send(each.fd.get(), bootstrap_.data(), bootstrap_.size(), MSG_NOSIGNAL);
    }
    const ssize_t sent = ::send(each.fd.get(), calls_.data() + each.at, calls_.size() - each.at,
                                MSG_NOSIGNAL | MSG_DONTWAIT);
    const bool is_open = sent >= 0 || errno == EAGAIN;
    if (sent > 0) each.at = (each.at + static_cast<size_t>(sent)) % calls_.size();
    const ssize_t got = ::recv(each.fd.get(), answers_.data(), answers_.size(), MSG_DONTWAIT);
    if (got > 0) answered += static_cast<size_t>(got);
    if (!is_open || got == 0 || (got < 0 && errno != EAGAIN)) each.fd.reset();
  }
  return answered;
}

}  // namespace graphd::bench
