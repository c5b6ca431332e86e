// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/protocol.h"
#include "ctl/doctor/diagnosis.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/plan/copy_plan.h"
#include "ctl/plan/host_order.h"
#include "ctl/plan/relative_path.h"
#include "tests/fuzz/support/target.h"

// Reads what graphctl processes on several hosts send one another: orders, frames, paths, and what
// `graphctl doctor` learns about a host. The first byte chooses the reader.

namespace graphd::fuzz {
namespace {

using namespace graphd::ctl;

// Feeds a stream in two pieces.
void ReadFrames(std::string_view bytes) {
  FrameReader reader([](const nlohmann::json& header, std::string) { header.dump(); },
                     [](const std::string&) {});
  reader.Feed(bytes.substr(0, bytes.size() / 2));
  reader.Feed(bytes.substr(bytes.size() / 2));
}

void ReadOrder(const std::string& line) {
  const HostOrder order = DecodeOrder(line);
  for (const TrainerPlan& trainer : order.trainers) {
    TrainerEnvironment(order, trainer, 1234, 2, "ip_config.txt");
  }
  EncodeOrder(order);
}

void ReadFacts(const std::string& text) {
  ExaminedHost host;
  try {
    host.facts = nlohmann::json::parse(text).get<HostFacts>();
  } catch (const nlohmann::json::exception&) {
    return;  // the caller reports it
  }
  Diagnose({host, host});
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  const std::string rest(input.substr(1));
  switch (input[0]) {
    case 'f':
      return ReadFrames(rest);
    case 'o':
      return ReadOrder(rest);
    case 'd':
      return ReadFacts(rest);
    case 'p':
      CleanRelativePath(rest, "--path");
      BaseName(rest);
      return;
    case 'c':
      ParseChecksum(rest);
      return;
    default:
      RewritePartConfig(rest, "g.json", "data");
  }
}

std::vector<std::string> Seeds() {
  HostOrder order;
  order.server.parts = {0, 1};
  order.job.command.words = {"train", "--lr", "0.1"};
  order.job.extra_envs = {"A=b"};
  order.trainers.resize(2);
  return {
      'o' + EncodeOrder(order),
      "fwelcome\n" + EncodeFrame({{"t", "hello"}, {"version", "1"}}) +
          EncodeFrame({{"t", "out"}, {"rank", 1}}, "line\n"),
      "pa/./b//c",
      'd' + nlohmann::json(HostFacts()).dump(),
      "c0123456789abcdef",
      R"(r{"node_map": "/a/m.npy", "part-0": {"part_graph": "/a/graph.dgl"}})",
  };
}

}  // namespace graphd::fuzz
