// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/metrics_page.h"

#include <prometheus/text_serializer.h>

#include <utility>

#include "daemon/metrics/process_metrics.h"
#include "daemon/metrics/server_metrics.h"

namespace graphd {
namespace {

constexpr double kFreshSeconds = 0.1;

}  // namespace

void MetricsPage::SetSource(std::function<ServerNumbers()> source) {
  const MutexLock lock(mutex_);
  source_ = std::move(source);
  text_.clear();
}

std::string MetricsPage::Text() {
  const MutexLock lock(mutex_);
  if (!text_.empty() && SecondsSince(made_) < kFreshSeconds) return text_;
  FamilyBuilder builder;
  AddProcessMetrics(builder);
  if (source_) {
    AddServerMetrics(source_(), builder);
  } else {
    AddStateMetric("loading", builder);
  }
  text_ = prometheus::TextSerializer().Serialize(std::move(builder).Finish());
  made_ = Clock::now();
  return text_;
}

}  // namespace graphd
