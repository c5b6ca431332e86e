// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/metrics_page.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "daemon/metrics/process_metrics.h"
#include "daemon/metrics/server_document.h"
#include "daemon/metrics/server_metrics.h"

namespace graphd {
namespace {

constexpr double kFreshSeconds = 0.1;

bool StartsWith(std::string_view text, std::string_view with) {
  return text.substr(0, with.size()) == with;
}

// Appends a line that describes a metric family. OpenMetrics omits the suffix from a counter's
// name.
void AppendHeader(std::string_view line, std::string& out) {
  constexpr std::string_view kSuffix = "_total";
  const size_t name_end = line.find(' ', sizeof "# HELP " - 1);
  const std::string_view head = line.substr(0, name_end);
  const bool is_counter =
      head.size() > kSuffix.size() && head.substr(head.size() - kSuffix.size()) == kSuffix;
  out += is_counter ? head.substr(0, head.size() - kSuffix.size()) : head;
  out += line.substr(head.size());
}

// Appends a sample. In OpenMetrics, the bound of a bucket is a number with a fraction.
void AppendSample(std::string_view line, std::string& out) {
  constexpr std::string_view kBound = "le=\"";
  const size_t found = line.find(kBound);
  if (found == std::string_view::npos) {
    out += line;
    return;
  }
  const size_t begin = found + kBound.size(), end = line.find('"', begin);
  const std::string_view bound = line.substr(begin, end - begin);
  out += line.substr(0, end);
  if (bound.find_first_not_of("0123456789") == std::string_view::npos) out += ".0";
  out += line.substr(end);
}

Readiness ReadinessOf(const ServerStatus& status) {
  if (status.state != "ready") return {false, status.state};
  if (status.drained) return {false, "drained: new jobs are refused"};
  return {true, "ready"};
}

}  // namespace

std::string ToOpenMetrics(const std::string& text) {
  std::string out;
  out.reserve(text.size() + 64);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1);
    const std::string_view line = std::string_view(text).substr(begin, end + 1 - begin);
    StartsWith(line, "# ") ? AppendHeader(line, out) : AppendSample(line, out);
    begin = end + 1;
  }
  return out + "# EOF\n";
}

void MetricsPage::SetLoading(const std::string& server_name,
                             std::function<std::pair<uint64_t, uint64_t>()> bytes) {
  const MutexLock lock(mutex_);
  server_name_ = server_name;
  loading_ = std::move(bytes);
  text_.clear();
}

void MetricsPage::SetSource(std::function<ServerNumbers()> source, std::function<bool()> is_alive) {
  const MutexLock lock(mutex_);
  source_ = std::move(source);
  is_alive_ = std::move(is_alive);
  loading_ = nullptr;
  text_.clear();
}

std::string MetricsPage::Text() {
  const MutexLock lock(mutex_);
  Refresh();
  return text_;
}

std::string MetricsPage::Document() {
  const MutexLock lock(mutex_);
  Refresh();
  return document_;
}

Readiness MetricsPage::IsReady() {
  const MutexLock lock(mutex_);
  Refresh();
  return readiness_;
}

bool MetricsPage::IsAlive() {
  const MutexLock lock(mutex_);
  return !is_alive_ || is_alive_();
}

void MetricsPage::Refresh() {
  if (!text_.empty() && SecondsSince(made_) < kFreshSeconds) return;
  FamilyBuilder builder;
  AddProcessMetrics(builder);
  if (source_) {
    const ServerNumbers numbers = source_();
    AddServerMetrics(numbers, builder);
    document_ = DocumentOf(numbers);
    readiness_ = ReadinessOf(numbers.status);
  } else {
    AddStateMetric("loading", builder);
    const auto bytes = loading_ ? loading_() : std::pair<uint64_t, uint64_t>();
    if (loading_) AddLoading(server_name_, bytes, builder);
    document_ = DocumentWhileLoading(server_name_, bytes);
    readiness_ = {false, "loading"};
  }
  text_ = prometheus::TextSerializer().Serialize(std::move(builder).Finish());
  made_ = Clock::now();
}

}  // namespace graphd
