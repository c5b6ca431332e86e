// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/metrics_endpoint.h"

#include <prometheus/collectable.h>

#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/failure.h"
#include "base/log.h"
#include "base/mutex.h"
#include "base/strings.h"
#include "daemon/metrics/process_metrics.h"
#include "daemon/metrics/server_metrics.h"
#include "daemon/serving/listener.h"

namespace graphd {
namespace {

// A scraper that sends no request, or does not read its answer, keeps one of the threads for the
// timeout.
const std::vector<std::pair<std::string, std::string>> kLimits{{"num_threads", "4"},
                                                               {"connection_queue", "16"},
                                                               {"listen_backlog", "16"},
                                                               {"request_timeout_ms", "3000"},
                                                               {"max_request_size", "4096"},
                                                               {"enable_keep_alive", "no"},
                                                               {"enable_directory_listing", "no"}};

const Listener::Texts kTexts{
    "--metrics", "with graphd's --metrics",
    "metrics are neither encrypted nor is anybody authenticated; give an address of loopback, or "
    "--metrics_insecure if everyone who can reach that address may read the metrics"};

constexpr double kFreshSeconds = 0.1;

}  // namespace

// The collector of metrics, which keeps those of a tenth of a second, so that frequent scrapes cost
// the daemon no more than rare ones.
class MetricsEndpoint::Collector final : public prometheus::Collectable {
 public:
  void SetSource(std::function<ServerNumbers()> source) {
    const MutexLock lock(mutex_);
    source_ = std::move(source);
    collected_ = {};
  }

  MetricFamilies Collect() const override {
    const MutexLock lock(mutex_);
    if (!families_.empty() && SecondsSince(collected_) < kFreshSeconds) return families_;
    // No exception may reach the library, which is called from C.
    LogFailure("collecting metrics", [this] {
      mutex_.AssumeHeld();
      FamilyBuilder builder;
      AddProcessMetrics(builder);
      source_ ? AddServerMetrics(source_(), builder) : AddStateMetric("loading", builder);
      families_ = std::move(builder).Finish();
      collected_ = Clock::now();
    });
    return families_;
  }

 private:
  mutable Mutex mutex_;
  std::function<ServerNumbers()> source_ GRAPHD_GUARDED_BY(mutex_);
  mutable MetricFamilies families_ GRAPHD_GUARDED_BY(mutex_);
  mutable Clock::time_point collected_ GRAPHD_GUARDED_BY(mutex_);
};

MetricsEndpoint::MetricsEndpoint(const std::string& address, uint16_t port, bool beyond_loopback)
    : collector_(std::make_shared<Collector>()) {
  // The library resolves no names and does not say why it can't bind, so a socket of our own finds
  // out first.
  text_ = Listener::BindTcp(address, port, beyond_loopback, kTexts).text();
  std::vector<std::string> options{"listening_ports", text_};
  for (const auto& [name, value] : kLimits) options.insert(options.end(), {name, value});
  try {
    exposer_ = std::make_unique<prometheus::Exposer>(options);
  } catch (const std::exception& error) {
    Throw(ErrorCode::kIo, "can't serve metrics at ", text_, ": ", error.what(),
          "; choose another address with --metrics");
  }
  exposer_->RegisterCollectable(collector_);
}

MetricsEndpoint::~MetricsEndpoint() = default;

void MetricsEndpoint::Serve(std::function<ServerNumbers()> source) {
  collector_->SetSource(std::move(source));
}

}  // namespace graphd
