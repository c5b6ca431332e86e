// SPDX-License-Identifier: Apache-2.0
#include "ctl/doctor/memory_needs.h"

#include <algorithm>

#include "base/strings.h"
#include "format/load.h"
#include "format/native/load_partition.h"
#include "graphd/error.h"
#include "store/rows/apply_rule.h"

namespace graphd::ctl {
namespace {

// The bytes that a partition book needs for each id if it stores the owner of every id instead of
// ranges: the owner, the local row, and the position in the owner's list.
constexpr uint64_t kMappedIdBytes = sizeof(int32_t) + 2 * sizeof(int64_t);

// Returns an array's name with the name of its type in place of the number, "node/_N/feat" for
// "node/0/feat"; or the unchanged name if it contains no type.
std::string NameWithType(const Schema& schema, const std::string& array) {
  const auto named = [&](const std::string& kind, int32_t id, const std::string& type) {
    const std::string prefix = StrCat(kind, "/", id, "/");
    return array.starts_with(prefix) ? StrCat(kind, "/", type, "/", array.substr(prefix.size()))
                                     : "";
  };
  for (NodeTypeId t = 0; t < schema.num_ntypes(); t++) {
    std::string name = named("node", t, schema.ntype(t));
    if (!name.empty()) return name;
  }
  for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
    for (const char* kind : {"csc", "edge"}) {
      std::string name = named(kind, e, schema.etype(e).ToString());
      if (!name.empty()) return name;
    }
  }
  return array;
}

PartitionNeeds NeedsOf(const PartConfig& config, PartId part) {
  PartitionNeeds needs;
  needs.part = part;
  needs.bytes = EstimatePartitionBytes(config, part);
  if (config.format != PartFormat::kNative) {
    needs.arrays.push_back({"all arrays, at most", "", {}, needs.bytes});
    return needs;
  }
  for (const NativeSegmentInfo& segment : ReadNativeHeaderOf(config, part).segments) {
    for (const ArraySpec& array : segment.layout.arrays()) {
      needs.arrays.push_back({NameWithType(config.meta->schema, array.name),
                              DTypeName(array.dtype()), array.shape, array.bytes});
    }
  }
  return needs;
}

MemoryItem TensorRows(const GraphMeta& meta, const TensorPlan& tensor, PartId part) {
  const int64_t rows = meta.book.nodes().count_in(part, tensor.ntype);
  const auto columns = static_cast<size_t>(tensor.columns);
  MemoryItem item;
  item.name = StrCat("tensor of ", meta.schema.ntype(tensor.ntype));
  if (tensor.state != OptimizerState::kNone) {
    item.name += StrCat(" with state of ", OptimizerStateName(tensor.state));
  }
  item.dtype = DTypeName(tensor.dtype);
  item.shape = {rows, tensor.columns};
  item.bytes =
      static_cast<uint64_t>(rows) * (columns * DTypeSize(tensor.dtype) +
                                     store::StateFloats(tensor.state, columns) * sizeof(float));
  return item;
}

// Adds the needs of a daemon that serves these partitions to the needs of its machine.
void AddDaemon(HostNeeds& host, const PartConfig& config, const std::vector<PartId>& parts,
               const std::vector<TensorPlan>& tensors, uint64_t tensor_limit) {
  uint64_t tensor_bytes = 0;
  host.daemons++;
  for (const PartId part : parts) {
    const PartitionNeeds& needs = host.partitions.emplace_back(NeedsOf(config, part));
    host.graph_bytes += needs.bytes;
    for (const TensorPlan& tensor : tensors) {
      tensor_bytes += host.tensors.emplace_back(TensorRows(*config.meta, tensor, part)).bytes;
    }
  }
  host.book_bytes += BookBytes(config.meta->book);
  host.graph_bytes += BookBytes(config.meta->book);
  host.tensor_bytes += tensor_limit > 0 ? std::min(tensor_bytes, tensor_limit) : tensor_bytes;
}

}  // namespace

uint64_t BookBytes(const PartitionBook& book) {
  uint64_t ids = 0;
  if (!book.nodes().is_range()) ids += static_cast<uint64_t>(book.nodes().total());
  if (!book.edges().is_range()) ids += static_cast<uint64_t>(book.edges().total());
  return ids * kMappedIdBytes;
}

TensorPlan ParseTensorPlan(const std::string& text, const PartConfig& config,
                           const std::string& option) {
  const size_t equals = text.rfind('=');
  if (equals == std::string::npos || equals == 0) {
    Throw(ErrorCode::kInvalid, option, " '", text,
          "': give a node type and the numbers per node, for example ",
          config.meta->schema.ntype(NodeTypeId(0)), "=128");
  }
  TensorPlan plan;
  plan.ntype = config.meta->schema.NodeTypeIdOf(text.substr(0, equals));
  std::string columns = text.substr(equals + 1);
  if (const size_t colon = columns.find(':'); colon != std::string::npos) {
    plan.dtype = DTypeFromName(columns.substr(colon + 1));
    columns.resize(colon);
  }
  plan.columns =
      ParseInt(columns, StrCat(option, " '", text, "': the numbers per node"), 1, int64_t{1} << 24);
  return plan;
}

std::vector<HostNeeds> MemoryNeeds(const PartConfig& config, const std::vector<HostLine>& lines,
                                   const std::vector<TensorPlan>& tensors, uint64_t tensor_limit) {
  const auto parts = static_cast<size_t>(config.meta->book.num_partitions());
  std::vector<HostNeeds> hosts;
  if (lines.empty()) {
    for (size_t part = 0; part < parts; part++) {
      HostNeeds& host = hosts.emplace_back();
      host.address = StrCat("host of partition ", part);
      AddDaemon(host, config, {static_cast<PartId>(part)}, tensors, tensor_limit);
    }
    return hosts;
  }
  if (lines.size() != parts) {
    Throw(ErrorCode::kInvalid, "the ip_config has ", lines.size(), " lines and ", config.path, " ",
          parts, " partitions; give a line for each partition");
  }
  for (const DaemonAddress& daemon : DaemonsOf(lines)) {
    auto host = std::find_if(hosts.begin(), hosts.end(), [&](const HostNeeds& known) {
      return known.address == daemon.address;
    });
    if (host == hosts.end()) {
      host = hosts.insert(host, HostNeeds{});
      host->address = daemon.address;
    }
    AddDaemon(*host, config, daemon.parts, tensors, tensor_limit);
  }
  return hosts;
}

}  // namespace graphd::ctl
