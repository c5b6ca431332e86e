// SPDX-License-Identifier: Apache-2.0
#include "daemon/changed_options.h"

#include <string>

#include "base/strings.h"
#include "daemon/config_error.h"
#include "daemon/serving/log_level.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

std::string Text(const std::string& value) { return value; }
std::string Text(const std::vector<std::string>& values) { return Join(values, ", "); }
std::string Text(bool value) { return value ? "true" : "false"; }
std::string Text(LogLevel value) { return LogLevelName(value); }
template <class Number>
requires std::is_arithmetic_v<Number> std::string Text(Number value) { return StrCat(value); }
std::string Text(const std::vector<PartId>& parts) {
  std::vector<std::string> texts;
  for (const PartId part : parts) texts.push_back(StrCat(part));
  return Join(texts, ",");
}

std::string Listen(const DaemonOptions& options) {
  return options.address.empty() ? std::string() : HostPort(options.address, options.port);
}
std::string Metrics(const DaemonOptions& options) {
  return options.metrics_address.empty() ? std::string()
                                         : HostPort(options.metrics_address, options.metrics_port);
}

}  // namespace

std::vector<ChangedOption> CompareOptions(const DaemonOptions& running, const DaemonOptions& read) {
  std::vector<ChangedOption> changes;
  const auto compare = [&](const char* key, const std::string& before, const std::string& after,
                           bool needs_restart) {
    if (before == after) return;
    std::string place = PlaceOf(read.config, key);
    if (place.ends_with(": ")) place.resize(place.size() - 2);
    changes.push_back({key, before, after, needs_restart, std::move(place)});
  };
  const auto fixed = [&](const char* key, const auto& before, const auto& after) {
    compare(key, Text(before), Text(after), true);
  };
  const auto live = [&](const char* key, const auto& before, const auto& after) {
    compare(key, Text(before), Text(after), false);
  };
  fixed("server_name", running.server_name, read.server_name);
  fixed("part_config", running.part_config, read.part_config);
  fixed("part_id", running.parts, read.parts);
  fixed("index", running.indexes, read.indexes);
  fixed("listen", Listen(running), Listen(read));
  if (running.address.empty() && read.address.empty()) fixed("port", running.port, read.port);
  fixed("keys", running.keys, read.keys);
  fixed("secret", running.secret, read.secret);
  fixed("runtime_dir", running.runtime_dir, read.runtime_dir);
  fixed("state_dir", running.state_dir, read.state_dir);
  fixed("durability", running.durability, read.durability);
  fixed("memory_dir", running.memory_dir, read.memory_dir);
  fixed("embedding_memory", running.embedding_memory, read.embedding_memory);
  fixed("write_back_seconds", running.write_back_seconds, read.write_back_seconds);
  fixed("num_servers", running.compute_threads, read.compute_threads);
  fixed("data_threads", running.data_threads, read.data_threads);
  live("max_connections", running.max_connections, read.max_connections);
  live("write_timeout", running.write_timeout, read.write_timeout);
  live("hang_timeout", running.hang_timeout, read.hang_timeout);
  live("peer_memory", running.peer_memory, read.peer_memory);
  live("index_memory", running.index_memory, read.index_memory);
  live("allow_read", running.access.readers, read.access.readers);
  live("allow_write", running.access.writers, read.access.writers);
  live("allow_operate", running.access.operators, read.access.operators);
  live("weight", running.access.weights, read.access.weights);
  fixed("insecure", running.access.insecure, read.access.insecure);
  fixed("metrics", Metrics(running), Metrics(read));
  fixed("metrics_insecure", running.metrics_insecure, read.metrics_insecure);
  live("metrics_peers", running.metrics_peers, read.metrics_peers);
  fixed("end_with_jobs", running.end_with_jobs, read.end_with_jobs);
  // A running daemon can change to another log file, but can't go back to standard error.
  compare("log_file", running.log_file, read.log_file, read.log_file.empty());
  live("log_level", running.log_level, read.log_level);
  return changes;
}

}  // namespace graphd
