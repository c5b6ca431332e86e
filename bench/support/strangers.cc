// SPDX-License-Identifier: Apache-2.0
#include "bench/support/strangers.h"

#include <sys/socket.h>
#include <unistd.h>

#include "graphd/error.h"
#include "tests/support/become_user.h"
#include "tests/support/call_script.h"
#include "wire/connection.h"

namespace graphd::bench {
namespace {

constexpr int kCalls = 100;
constexpr size_t kReadBytes = size_t{64} << 10;

// Returns the messages with which a connection begins.
std::string Bootstrap() { return testing::CallScript().TakeBytes(); }

// Returns the messages that a connection sends again and again: calls of status, and their ends,
// after which the numbers of the calls may be used again.
std::string Calls() {
  testing::CallScript script;
  script.TakeBytes();
  for (int i = 0; i < kCalls; i++) {
    script.Status();
    script.Finish(script.last_question());
  }
  return script.TakeBytes();
}

}  // namespace

Strangers::Strangers(uint16_t port, size_t connections)
    : port_(port),
      bootstrap_(Bootstrap()),
      calls_(Calls()),
      answers_(kReadBytes, '\0'),
      connections_(connections) {
  if (::geteuid() == 0 && !testing::BecomeUser(testing::kNobody)) {
    ThrowErrno("can't become user", std::to_string(testing::kNobody));
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
