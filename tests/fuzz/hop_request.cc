// SPDX-License-Identifier: Apache-2.0
#include <capnp/serialize.h>
#include <kj/exception.h>

#include <cstring>

#include "daemon/graph/hop_job.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "format/partitioner.h"
#include "tests/fuzz/support/target.h"
#include "tests/fuzz/support/wire_input.h"
#include "tests/unit/format/raw_graph_samples.h"
#include "wire/hop_messages.h"

// Executes a hop request as the daemon does, on a small partition. The first byte chooses: a
// message made of the bytes, or a valid message with such fields.

namespace graphd::fuzz {
namespace {

// Larger requests are checked and not executed; they may take seconds.
constexpr uint64_t kMostEdges = 1 << 16;

std::shared_ptr<const Partition> MakePartition() {
  const testing::ScratchDirectory directory;
  PartitionOptions options;
  options.graph_name = "g";
  options.num_parts = 2;
  options.method = PartMethod::kRandom;
  options.output = directory.path();
  const RawGraph graph = testing::TypedGraph(20, 30, 1);
  return LoadPartition(LoadPartConfig(PartitionGraph(graph, options).part_config), 0);
}

bool IsSmall(wire::Session::HopParams::Reader hop) {
  uint64_t edges = 0;
  for (const auto rule : hop.getRules()) {
    if (rule.getSeeds() >= hop.getSeeds().size()) return true;  // it is refused
    const uint64_t seeds = hop.getSeeds()[rule.getSeeds()].getIds().size() / 4;
    edges += seeds * (rule.getReplace() ? static_cast<uint32_t>(rule.getFanout()) : 100);
  }
  return edges <= kMostEdges;
}

void Execute(wire::Session::HopParams::Reader hop) {
  static const std::shared_ptr<const Partition> partition = MakePartition();
  static const auto indexes = std::make_shared<EdgeIndexes>(partition);
  static const auto buffers = BufferPool::Create();
  static WorkerScratch scratch;
  HopJob job(partition, indexes, buffers, hop);
  job.MissingIndexes();
  if (!IsSmall(hop)) return;
  for (size_t rule = 0; rule < job.num_rules(); rule++) job.PrepareExcluded(rule);
  for (size_t slice = 0; slice < job.num_slices(); slice++) job.RunSlice(slice, scratch);
  for (size_t rule = 0; rule < job.num_rules(); rule++) job.Join(rule);
  capnp::MallocMessageBuilder answer;
  auto results = answer.initRoot<wire::Session::HopResults>();
  job.Write(results, [&](PooledBuffer buffer, size_t bytes) {
    auto orphan = answer.getOrphanage().newOrphan<capnp::Data>(static_cast<kj::uint>(bytes));
    std::memcpy(orphan.get().begin(), buffer.data(), bytes);
    return orphan;
  });
}

}  // namespace

void ReadInput(std::string_view input) {
  if (input.empty()) return;
  const char kind = input[0];
  input.remove_prefix(1);
  try {
    if (kind == 'f') {
      FuzzedDataProvider data(reinterpret_cast<const uint8_t*>(input.data()), input.size());
      capnp::MallocMessageBuilder message;
      FillHop(data, message.initRoot<wire::Session::HopParams>());
      Execute(message.getRoot<wire::Session::HopParams>().asReader());
    } else {
      capnp::FlatArrayMessageReader message(Words(input));
      Execute(message.getRoot<wire::Session::HopParams>());
    }
  } catch (const kj::Exception&) {
    // Cap'n Proto refuses the message; its RPC system sends the reason to the peer.
  }
}

std::vector<std::string> Seeds() {
  const auto partition = MakePartition();
  const GraphMeta& meta = partition->meta();
  std::vector<std::string> seeds{'f' + std::string(300, '\1'), 'f' + std::string(300, '\x22')};
  for (EdgeTypeId etype = 0; etype < meta.schema.num_etypes(); etype++) {
    for (const Direction direction : {Direction::kIn, Direction::kOut}) {
      const SamplingRule rule{.etype = etype, .direction = direction, .fanout = 2};
      const NodeTypeId ntype =
          direction == Direction::kIn ? meta.schema.dst_type(etype) : meta.schema.src_type(etype);
      const std::vector<int64_t> ids{meta.book.nodes().type_begin(0, ntype)};
      HopRequest hop;
      hop.seeds.push_back({ntype, {.ids = ids, .streams = ids, .times = ids}});
      hop.rules.push_back({.rule = rule, .edge_ids = true});
      hop.rows.push_back({0, 0, "orig_id"});
      capnp::MallocMessageBuilder message;
      WriteHop(meta, 0, hop, message.initRoot<wire::Session::HopParams>());
      seeds.push_back(Flat('m', message));
    }
  }
  return seeds;
}

}  // namespace graphd::fuzz
