// SPDX-License-Identifier: Apache-2.0
#include "client/link/barrier_call.h"

#include <algorithm>
#include <cstdint>

namespace graphd {
namespace {

// Time that the daemon has to answer once the timeout has passed.
constexpr std::chrono::milliseconds kAnswer{5000};

}  // namespace

RpcThread::Pending StartBarrier(DaemonLink& link, std::chrono::milliseconds timeout, uint64_t entry,
                                uint64_t& passed) {
  // The timeout travels as 32 bits; nobody waits for longer than 49 days.
  const auto in_daemon = std::clamp<int64_t>(timeout.count(), 1, UINT32_MAX);
  const auto enter = [in_daemon, entry, &passed](wire::Session::Client& session, size_t) {
    auto request = session.barrierRequest();
    request.setTimeout(static_cast<uint32_t>(in_daemon));
    request.setEntry(entry);
    request.setPassed(passed);
    return request.send().then([&passed](auto&& response) { passed = response.getNumber(); });
  };
  return link.StartSteps(DaemonLink::Lane::kSmall, 1, enter, timeout + std::min(timeout, kAnswer));
}

}  // namespace graphd
