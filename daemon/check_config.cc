// SPDX-License-Identifier: Apache-2.0
#include "daemon/check_config.h"

#include <cstdio>
#include <functional>
#include <optional>
#include <utility>

#include "base/failure.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "daemon/access/access_rules.h"
#include "daemon/config_error.h"
#include "daemon/graph/served_graph.h"
#include "daemon/handshakes/secret_server.h"
#include "daemon/handshakes/tls_server.h"
#include "daemon/metrics/metrics_endpoint.h"
#include "daemon/serving/listener.h"
#include "format/load.h"
#include "format/load_part_config.h"

namespace graphd {
namespace {

// Runs checks, and collects the problems that they find.
class Checks {
 public:
  explicit Checks(const DaemonOptions& options) : options_(options) {}

  // Runs `check`, which reads the option `name`. Returns whether it found no problem.
  bool Run(const char* name, const std::function<void()>& check) {
    try {
      check();
      return true;
    } catch (...) {
      const Error error = CurrentError();
      problems_.emplace_back(error.code(),
                             StrCat(PlaceOf(options_.config, name), name, ": ", error.what()));
      return false;
    }
  }
  std::vector<Error> TakeProblems() { return std::move(problems_); }

 private:
  const DaemonOptions& options_;
  std::vector<Error> problems_;
};

// The numbers that the summary shows.
struct Found {
  std::optional<PartConfig> graph;
  uint64_t bytes = 0;  // the memory of the partitions
};

void Examine(const DaemonOptions& options, Checks& checks, Found& found) {
  std::optional<PartConfig>& graph = found.graph;
  uint64_t& needed = found.bytes;
  checks.Run("part_config", [&] { graph = LoadPartConfig(options.part_config); });
  if (graph) {
    checks.Run("part_id", [&] {
      for (const PartId part : options.parts) needed += EstimatePartitionBytes(*graph, part);
      if (needed <= TotalMemory()) return;
      Throw(ErrorCode::kOverloaded, "the partitions need ", HumanBytes(needed), ", and there are ",
            HumanBytes(TotalMemory()), "; serve fewer partitions here");
    });
    checks.Run("index", [&] {
      for (const std::string& index : options.indexes) ParseIndex(graph->meta->schema, index);
    });
  }
  if (!options.keys.empty()) {
    checks.Run("keys", [&] { TlsServer(options.keys, options.server_name); });
  }
  if (!options.secret.empty()) {
    checks.Run("secret", [&] { SecretServer(options.secret, options.server_name); });
  }
  checks.Run("allow_read", [&] {
    AccessRules::Options rules;
    rules.readers = options.access.readers;
    AccessRules{rules};
  });
  checks.Run("allow_write", [&] {
    AccessRules::Options rules;
    rules.writers = options.access.writers;
    AccessRules{rules};
  });
  checks.Run("allow_operate", [&] {
    AccessRules::Options rules;
    rules.operators = options.access.operators;
    AccessRules{rules};
  });
  checks.Run("weight", [&] {
    AccessRules::Options rules;
    rules.weights = options.access.weights;
    AccessRules{rules};
  });
}

// Checks the addresses that a daemon binds when it starts; a reload does not change them.
void ExamineAddresses(const DaemonOptions& options, Checks& checks) {
  if (!options.address.empty()) {
    checks.Run("listen", [&] {
      Listener::ResolveTcp(options.address, options.port, options.allows_beyond_loopback(),
                           Listener::kListenTexts);
    });
  }
  if (!options.metrics_address.empty()) {
    checks.Run("metrics", [&] {
      MetricsEndpoint::CheckAddress(options.metrics_address, options.metrics_port,
                                    options.metrics_insecure);
    });
  }
}

}  // namespace

std::vector<Error> FindProblems(const DaemonOptions& options) {
  Checks checks(options);
  Found found;
  Examine(options, checks, found);
  return checks.TakeProblems();
}

int CheckConfig(const DaemonOptions& options) {
  Checks checks(options);
  Found found;
  Examine(options, checks, found);
  ExamineAddresses(options, checks);
  const std::vector<Error> problems = checks.TakeProblems();
  for (const Error& problem : problems) std::fprintf(stderr, "%s\n", problem.what());
  if (!problems.empty()) return ExitCode(problems.front().code());
  std::printf("%s: ok, '%s' serves %zu of %zu partitions of '%s', %s\n",
              options.config.empty() ? "command line" : options.config.c_str(),
              options.server_name.c_str(), options.parts.size(), found.graph->parts.size(),
              found.graph->meta->graph_name.c_str(), HumanBytes(found.bytes).c_str());
  return 0;
}

}  // namespace graphd
