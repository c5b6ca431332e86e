// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"
#include "client/machine_role.h"
#include "ctl/doctor/memory_needs.h"
#include "ctl/logs/since.h"
#include "ctl/plan/trainer_hosts.h"
#include "ctl/plan/user_command.h"
#include "daemon/graph/served_graph.h"
#include "examples/common/typed_fanouts.h"
#include "format/input/graph_files.h"
#include "format/partition/assign_nodes.h"
#include "store/checkpoint/set.h"
#include "tests/fuzz/support/target.h"
#include "wire/ip_config.h"

// Parses values that users write: options of graphctl, graphd and the examples, environment
// variables, ip_config files. Every input goes to every parser.

namespace graphd::fuzz {
namespace {

PartConfig ConfigOf(const Schema& schema) {
  auto meta = std::make_shared<GraphMeta>();
  meta->schema = schema;
  PartConfig config;
  config.meta = std::move(meta);
  return config;
}

}  // namespace

void ReadInput(std::string_view input) {
  static const Schema schema({"u", "v"}, {{"u", "to", "v"}, {"v", "of", "u"}});
  static const PartConfig config = ConfigOf(schema);
  const std::string text(input);
  Attempt([&] { DaemonsOf(ParseIpConfig(text, "ip_config.txt")); });
  Attempt([&] { ctl::ParseTrainerHosts(text, "gpus.txt"); });
  Attempt([&] {
    const auto [host, port] = ParseHostPort(text);
    HostPort(host, port);
  });
  Attempt([&] { CheckServerName(text); });
  Attempt([&] { ParseEdgeFile(text); });
  Attempt([&] { ParseNodeFile(text); });
  Attempt([&] { ParseNodeCount(text); });
  Attempt([&] { ParseInt(text, "number", -5, 5); });
  Attempt([&] { PartMethodFromName(text); });
  Attempt([&] { ObjectiveFromName(text); });
  Attempt([&] { DTypeFromName(text); });
  Attempt([&] { ParseIndex(schema, text); });
  Attempt([&] { store::CheckCheckpointName(text); });
  Attempt([&] { store::CheckKeptFileName(text); });
  Attempt([&] { examples::TypedFanouts(schema, {5, 10}, Split(text, ' '), 2); });
  Attempt([&] { examples::TypedFanouts(schema, {5, 10}, {text}, 2); });
  Attempt([&] { ctl::DisplayCommand({Split(text, '\n'), text.starts_with('s')}); });
  Attempt([&] { ctl::IsAssignment(text); });
  Attempt([&] { ctl::ParseSince(text, 1.8e9); });
  Attempt([&] { ctl::ParseTensorPlan(text, config, "--embedding"); });
  Attempt([&] { ParseMachineRole(text, "GRAPHD_ROLE"); });
}

std::vector<std::string> Seeds() {
  return {"10.0.0.1 30050 4\n# comment\nhost-b\n::1 1\n",
          "[::1]:30050",
          "host:80",
          "u:to:v.weight=edges.npy",
          "u:to:v=src.npy,dst.npy",
          "u.feat=nodes.csv",
          "u=12345",
          "out:to",
          "alias:u:to:v/weight",
          "to=5,10 of=-1,2",
          "metis",
          "vol",
          "float32",
          "A=b c",
          "2026-11-26T13:05:30",
          "15min",
          "u=128:float16",
          "trainer",
          "it's"};
}

}  // namespace graphd::fuzz
