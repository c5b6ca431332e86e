// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/families.h"

namespace graphd {

FamilyBuilder& FamilyBuilder::Begin(const char* name, const char* help,
                                    prometheus::MetricType type) {
  prometheus::MetricFamily& family = families_.emplace_back();
  family.name = name;
  family.help = help;
  family.type = type;
  return *this;
}

FamilyBuilder& FamilyBuilder::Gauge(const char* name, const char* help) {
  return Begin(name, help, prometheus::MetricType::Gauge);
}

FamilyBuilder& FamilyBuilder::Counter(const char* name, const char* help) {
  return Begin(name, help, prometheus::MetricType::Counter);
}

FamilyBuilder& FamilyBuilder::Histogram(const char* name, const char* help) {
  return Begin(name, help, prometheus::MetricType::Histogram);
}

prometheus::ClientMetric& FamilyBuilder::Add(const MetricLabels& labels) {
  prometheus::ClientMetric& metric = families_.back().metric.emplace_back();
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

FamilyBuilder& FamilyBuilder::Sample(double value, const MetricLabels& labels) {
  prometheus::ClientMetric& metric = Add(labels);
  if (families_.back().type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  return *this;
}

FamilyBuilder& FamilyBuilder::Sample(prometheus::ClientMetric::Histogram value,
                                     const MetricLabels& labels) {
  Add(labels).histogram = std::move(value);
  return *this;
}

}  // namespace graphd
