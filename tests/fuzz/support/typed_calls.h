// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <capnp/capability.h>
#include <fuzzer/FuzzedDataProvider.h>
#include <kj/async.h>
#include <kj/exception.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/daemon_services.h"
#include "wire/connection.h"

namespace graphd::fuzz {

using testing::DaemonServices;
using testing::Fail;

// A client's end of a connection to a daemon, with the protocol's own client.
struct TypedClient {
  TypedClient(DaemonServices& services, UniqueFd fd, bool is_unix);
  Connection connection;
  wire::Daemon::Client daemon;
};

// The calls that an input makes of a daemon's services: what it takes from the input to fill their
// parameters, and their answers, of which any is right but an error of the kind "internal".
class TypedCalls {
 protected:
  TypedCalls(DaemonServices& services, std::string_view input);
  TypedCalls(const TypedCalls&) = delete;
  TypedCalls& operator=(const TypedCalls&) = delete;
  ~TypedCalls() = default;

  // Returns small numbers often, any number sometimes.
  template <class Number>
  Number Some() {
    const auto small = data_.ConsumeIntegral<int8_t>();
    if (small == INT8_MIN) return data_.ConsumeIntegral<Number>();
    return static_cast<Number>(small >= 0 ? small % 4 : -1 - (small + 1) % 2);
  }
  // Returns one of a few texts, or any short one.
  std::string OneOf(std::initializer_list<const char*> texts);
  // Returns the id of one of this input's jobs, of which there are few.
  std::string OwnJob() { return (data_.ConsumeBool() ? "a" : "b") + daemon_.unique(); }

  // A client of some role, and whether it may control the daemon.
  struct Chosen {
    Peer peer;
    bool is_operator = false;
  };
  Chosen ChoosePeer();

  // Sends a request and remembers its promise; an answer is looked at when it comes, which may be
  // after the input has ended.
  template <class Request, class Look>
  auto Send(Request&& request, Look&& look) {
    return Remember(request.send(), std::forward<Look>(look));
  }
  template <class Request>
  auto Send(Request&& request) {
    return Send(std::forward<Request>(request), [](auto&) {});
  }
  // Drops the promise of a call, which cancels it unless it was answered.
  void DropACall();
  // Waits for the answers for a moment.
  void WaitForAnswers();
  // Drops all promises, and looks at what the answers have said. The connections are closed then.
  void End();

  DaemonServices& services_;
  DaemonServices::Input daemon_;
  FuzzedDataProvider data_;

 private:
  // The notes of the callbacks of calls.
  struct Answers {
    int open = 0;
    std::optional<std::string> internal;
  };

  template <class Results, class Look>
  typename Results::Pipeline Remember(capnp::RemotePromise<Results> sent, Look look) {
    auto answers = answers_;
    answers->open++;
    typename Results::Pipeline pipeline = kj::mv(sent);
    promises_.push_back(sent.then([look](auto&& response) { look(response); },
                                  [answers](kj::Exception&& exception) {
                                    const Error error = FromKj(exception, "the daemon");
                                    if (error.code() != ErrorCode::kInternal) return;
                                    answers->internal = error.what();
                                  })
                            .attach(kj::defer([answers] { answers->open--; }))
                            .eagerlyEvaluate(nullptr));
    return pipeline;
  }

  const std::shared_ptr<Answers> answers_ = std::make_shared<Answers>();
  std::deque<kj::Promise<void>> promises_;
  bool may_stop_ = false;  // one of the clients may stop the daemon
};

// Returns inputs for typed calls: bytes of all kinds, from which libFuzzer learns more than from a
// sequence of calls made by hand.
std::vector<std::string> SeedsOfTypedCalls();

}  // namespace graphd::fuzz
