// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <prometheus/exposer.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "daemon/metrics/server_numbers.h"

namespace graphd {

// The HTTP endpoint of the daemon's metrics, http://<address>/metrics, in Prometheus's text format.
// It has threads of its own, so that slow scrapers hold up no client: their number, the connections
// that wait, and the size and time of a request are bounded. Owned by the main thread.
class MetricsEndpoint {
 public:
  // Binds and serves, with the state "loading". Port 0 takes any free one. Throws as
  // Listener::BindTcp does.
  MetricsEndpoint(const std::string& address, uint16_t port, bool beyond_loopback);
  // Ends all requests. What Serve() was given is not called any more.
  ~MetricsEndpoint();
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;

  // Sets where the metrics come from. `source` is called by the endpoint's threads, one at a time,
  // at most ten times a second.
  void Serve(std::function<ServerNumbers()> source);
  const std::string& text() const noexcept { return text_; }  // "127.0.0.1:9464"

 private:
  class Collector;
  std::shared_ptr<Collector> collector_;
  std::string text_;
  std::unique_ptr<prometheus::Exposer> exposer_;
};

}  // namespace graphd
