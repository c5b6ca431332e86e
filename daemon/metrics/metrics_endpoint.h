// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/metrics/metrics_page.h"
#include "daemon/serving/listener.h"
#include "wire/loop_thread.h"

namespace graphd {

// The HTTP endpoint of the daemon's metrics, http://<address>/metrics, and of a page for people
// that shows them, http://<address>/. The page also shows the answer of /servers, which describes
// this server and others; the endpoint asks the others for their /status. /ready and /live answer
// with 200 or 503, for programs that start and replace daemons: /ready tells whether the daemon
// takes new jobs, and /live whether its threads serve their connections. The endpoint has a thread
// and an event loop of its own, so that scrapers hold up no client; ThreadWatch watches this thread
// like others. Connections are limited in number and time: if there are too many, a new connection
// takes the place of the oldest, so that connections that send nothing keep nobody out.
// Constructed, used and destroyed by a thread with an event loop.
class MetricsEndpoint {
 public:
  static constexpr size_t kMaxConnections = 32;
  static constexpr int64_t kMaxSeconds = 10;  // a connection is closed after this time
  // The watchdog regards the endpoint's thread as hung after this time. It is longer than the time
  // for other event loops, because an answer asks file systems for their free space and may wait
  // there.
  static constexpr std::chrono::seconds kLongestAnswer{120};

  // Throws Error if the constructor would refuse this address, as Listener::ResolveTcp does.
  static void CheckAddress(const std::string& address, uint16_t port, bool beyond_loopback);

  // Returns the addresses of the metrics of other servers, as host:port.
  using Peers = std::function<std::vector<std::string>()>;

  // Binds and serves, with the state "loading". Port 0 takes any free one. The endpoint's thread
  // calls `peers`. Throws as Listener::BindTcp does.
  MetricsEndpoint(
      const std::string& address, uint16_t port, bool beyond_loopback,
      Peers peers = [] { return std::vector<std::string>(); });
  // Closes all connections. The functions that Serve() was given are not called any more.
  ~MetricsEndpoint() = default;
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // Sets what is shown until Serve(): the server's name and, by `bytes`, how many bytes of the
  // partitions are in memory, and how many will be. The endpoint's thread calls `bytes`.
  void ShowLoading(const std::string& server_name,
                   std::function<std::pair<uint64_t, uint64_t>()> bytes) {
    page_.SetLoading(server_name, std::move(bytes));
  }
  // Sets the function that returns the numbers for the metrics, and the one that tells whether the
  // daemon's threads serve their connections. The endpoint's thread calls both.
  void Serve(std::function<ServerNumbers()> source, std::function<bool()> is_alive = nullptr) {
    page_.SetSource(std::move(source), std::move(is_alive));
  }
  std::string text() const { return listener_.text(); }  // "127.0.0.1:9464"

 private:
  MetricsPage page_;
  Listener listener_;
  LoopThread loop_;
  kj::Promise<void> beating_;
  kj::Promise<void> serving_;  // destroyed first, which ends all work on the loop
};

}  // namespace graphd
