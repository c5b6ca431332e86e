// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/threads/mutex.h"
#include "daemon/metrics/server_numbers.h"

namespace graphd {

// Converts metrics from Prometheus's text format (version 0.0.4) to OpenMetrics 1.0. The texts of
// descriptions must not contain quotes.
std::string ToOpenMetrics(const std::string& text);

// Whether a daemon takes new jobs.
struct Readiness {
  bool is_ready = false;
  std::string text;  // "ready", or the reason why it is not
};

// The page of the daemon's metrics in Prometheus's text format. It is made at most ten times a
// second, so that frequent scrapes cost the daemon no more than rare ones. Thread-safe.
class MetricsPage {
 public:
  // Sets what the page shows until SetSource is called: the server's name, and the numbers that
  // `bytes` returns: how many bytes of the partitions are in memory, and how many will be (0: not
  // known). Threads that ask for the page call `bytes` under a lock.
  void SetLoading(const std::string& server_name,
                  std::function<std::pair<uint64_t, uint64_t>()> bytes);
  // Sets the function that returns the daemon's numbers, and the one that tells whether it is
  // alive. Threads that ask for the page call both under a lock, and no longer call the function of
  // SetLoading. Without a source, the daemon's state is "loading"; without `is_alive`, it is alive.
  void SetSource(std::function<ServerNumbers()> source, std::function<bool()> is_alive = nullptr);
  // Returns the page.
  std::string Text();
  // Returns the document by which the page for people describes this server (server_document.h). It
  // is as old as the metrics page.
  std::string Document();
  // Returns whether the daemon has loaded its partitions and takes new jobs, as of the time when
  // the metrics page was made.
  Readiness IsReady();
  // Returns whether the daemon's threads serve their connections.
  bool IsAlive();

 private:
  void Refresh() GRAPHD_REQUIRES(mutex_);

  Mutex mutex_;
  std::function<ServerNumbers()> source_ GRAPHD_GUARDED_BY(mutex_);
  std::string server_name_ GRAPHD_GUARDED_BY(mutex_);
  std::function<std::pair<uint64_t, uint64_t>()> loading_ GRAPHD_GUARDED_BY(mutex_);
  std::function<bool()> is_alive_ GRAPHD_GUARDED_BY(mutex_);
  std::string text_ GRAPHD_GUARDED_BY(mutex_), document_ GRAPHD_GUARDED_BY(mutex_);
  Readiness readiness_ GRAPHD_GUARDED_BY(mutex_);
  Clock::time_point made_ GRAPHD_GUARDED_BY(mutex_){};
};

}  // namespace graphd
