// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <prometheus/metric_family.h>

#include <string>
#include <utility>
#include <vector>

namespace graphd {

using MetricFamilies = std::vector<prometheus::MetricFamily>;
using MetricLabels = std::vector<std::pair<const char*, std::string>>;

// The metric families (in Prometheus's sense) of one scrape, while they are collected. Used by one
// thread.
class FamilyBuilder {
 public:
  // Adds a family without samples. Names and units follow Prometheus's conventions.
  FamilyBuilder& Gauge(const char* name, const char* help);
  FamilyBuilder& Counter(const char* name, const char* help);
  FamilyBuilder& Histogram(const char* name, const char* help);
  // Adds a sample to the last family, which is a gauge or a counter.
  FamilyBuilder& Sample(double value, const MetricLabels& labels = {});
  FamilyBuilder& Sample(prometheus::ClientMetric::Histogram value, const MetricLabels& labels);
  MetricFamilies Finish() && { return std::move(families_); }

 private:
  FamilyBuilder& Begin(const char* name, const char* help, prometheus::MetricType type);
  prometheus::ClientMetric& Add(const MetricLabels& labels);
  MetricFamilies families_;
};

}  // namespace graphd
