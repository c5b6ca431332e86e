// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "base/clock.h"
#include "base/mutex.h"
#include "daemon/metrics/server_numbers.h"

namespace graphd {

// Returns metrics in Prometheus's text format (version 0.0.4) as OpenMetrics 1.0. The texts of
// descriptions must not contain quotes.
std::string ToOpenMetrics(const std::string& text);

// The page of the daemon's metrics in Prometheus's text format. It is made at most ten times a
// second, so that frequent scrapes cost the daemon no more than rare ones. Thread-safe.
class MetricsPage {
 public:
  // Sets where the metrics come from: `source` is called under a lock by threads that ask for the
  // text. Without a source, the daemon's state is "loading".
  void SetSource(std::function<ServerNumbers()> source);
  // Returns the page.
  std::string Text();

 private:
  Mutex mutex_;
  std::function<ServerNumbers()> source_ GRAPHD_GUARDED_BY(mutex_);
  std::string text_ GRAPHD_GUARDED_BY(mutex_);
  Clock::time_point made_ GRAPHD_GUARDED_BY(mutex_){};
};

}  // namespace graphd
