// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>

#include <chrono>
#include <string>

#include "wire/connection.h"

namespace graphd::testing {

// A client that speaks the protocol itself, and may break the rules that libclient keeps. Used by
// one thread, which has no other event loop.
class RawClient {
 public:
  // Connects to the socket, and attaches as a trainer of a job unless `job` is empty. Throws Error.
  explicit RawClient(const std::string& socket_path, const std::string& job = "");

  wire::Daemon::Client& daemon() { return daemon_; }
  wire::Session::Client& session() { return KJ_REQUIRE_NONNULL(session_); }
  TensorStream& stream() { return connection_.stream(); }
  kj::Promise<void> OnDisconnect() { return connection_.OnDisconnect(); }
  kj::Timer& timer() { return io_.provider->getTimer(); }

  // Waits for an answer. Throws the Error that the daemon has sent, or Error(kDeadline) after a
  // minute.
  template <class T>
  T Wait(kj::Promise<T> promise) {
    try {
      return timer().timeoutAfter(60 * kj::SECONDS, kj::mv(promise)).wait(io_.waitScope);
    } catch (const kj::Exception& exception) {
      throw FromKj(exception, "graphd");
    }
  }
  // Lets the event loop run.
  void Sleep(std::chrono::milliseconds time) {
    Wait(timer().afterDelay(time.count() * kj::MILLISECONDS));
  }

 private:
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  Connection connection_;
  wire::Daemon::Client daemon_;
  kj::Maybe<wire::Session::Client> session_;
};

}  // namespace graphd::testing
