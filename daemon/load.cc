// SPDX-License-Identifier: Apache-2.0
#include "daemon/load.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/rng.h"
#include "base/strings.h"
#include "daemon/restart/kept_graph.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "store/rows/memory_dir.h"

namespace graphd {
namespace {

// Loads the partitions from their files.
KeptGraph LoadPartitions(const DaemonOptions& options) {
  const PartConfig config = LoadPartConfig(options.part_config);
  KeptGraph graph;
  graph.part_config = options.part_config;
  const int32_t num_parts = config.meta->book.num_partitions();
  uint64_t needed = 0;
  for (PartId part : options.parts) {
    if (part < 0 || part >= num_parts) {
      Throw(ErrorCode::kNotFound, "--part_id ", part, ": ", options.part_config,
            " has partitions 0..", num_parts - 1);
    }
    needed += EstimatePartitionBytes(config, part);
    // A file that changes while it is read differs from its stamp at the next start.
    for (const std::string& path : PartitionFiles(config, part)) {
      graph.files.push_back(FileStamp::Of(path));
    }
  }
  CheckMemory(needed, AvailableMemory(), "graph '" + config.meta->graph_name + "'");
  for (PartId part : options.parts) {
    const auto start = Clock::now();
    graph.partitions.push_back(LoadPartition(config, part));
    LogInfo("partition ", part, " of '", config.meta->graph_name,
            "': ", HumanBytes(graph.partitions.back()->bytes()), " in ", SecondsSince(start), " s");
    // A large graph takes longer to load than systemd waits by default.
    sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
  }
  return graph;
}

// Lets the service manager keep the graph for the next process. A failure costs no more than a
// longer start.
void KeepGraph(const KeptGraph& graph, DescriptorStore& store) {
  if (!DescriptorStore::available()) return;
  LogFailure("giving the graph to the service manager", [&] {
    graph.Keep(store);
    if (!store.Flush()) LogWarning("the service manager does not answer within 5 s");
  });
}

// Returns a number that identifies these files with their contents; clients that keep rows compare
// it when they attach.
uint64_t DataId(const std::vector<FileStamp>& files) {
  uint64_t id = 0;
  for (const FileStamp& file : files) {
    for (const char c : file.path) id = CombineKeys(id, static_cast<unsigned char>(c));
    for (const uint64_t number :
         {file.device, file.inode, file.bytes, static_cast<uint64_t>(file.modified)}) {
      id = CombineKeys(id, number);
    }
  }
  return id | 1;
}

bool IsWritableTmpfs(const std::string& directory) {
  struct statfs status {};
  return ::statfs(directory.c_str(), &status) == 0 && status.f_type == TMPFS_MAGIC &&
         ::access(directory.c_str(), W_OK | X_OK) == 0;
}

// Returns the tmpfs for tensor memory that survives this process; empty if there is none.
std::string MemoryDirectory(const DaemonOptions& options) {
  if (options.durability != "process" || options.embedding_memory != 0) return {};
  const bool given = !options.memory_dir.empty();
  std::string directory = given ? options.memory_dir : store::kDefaultMemoryDir;
  if (IsWritableTmpfs(directory)) return directory;
  if (given) {
    Throw(ErrorCode::kInvalid, "--memory_dir ", directory,
          " is not a writable tmpfs; mount one, or leave the option out");
  }
  LogWarning(directory,
             " is not a writable tmpfs: changes of tensors stay in the push log until they are "
             "written back, which is slower; name another tmpfs with --memory_dir");
  return {};
}

}  // namespace

std::unique_ptr<ServedGraph> LoadGraph(const DaemonOptions& options, DescriptorStore& store) {
  const auto start = Clock::now();
  std::optional<KeptGraph> kept = KeptGraph::Take(store, options.part_config, options.parts);
  const bool was_kept = kept.has_value();
  KeptGraph loaded = was_kept ? *std::move(kept) : LoadPartitions(options);
  auto graph = std::make_unique<ServedGraph>(loaded.partitions, std::exchange(loaded.indexes, {}),
                                             DataId(loaded.files));
  if (was_kept) {
    LogInfo("took over the graph of an earlier process within ", SecondsSince(start), " s");
  }
  for (const std::string& text : options.indexes) {
    const EdgeIndexSpec spec = ParseIndex(graph->meta().schema, text);
    for (PartId part : options.parts) {
      loaded.indexes[{part, spec}] = graph->indexes(part)->Get(spec);
    }
    sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000");
  }
  KeepGraph(loaded, store);
  return graph;
}

std::unique_ptr<store::TensorHost> LoadTensors(const DaemonOptions& options,
                                               const ServedGraph& graph) {
  store::TensorHost::Options host;
  host.store.directory = StoreDirectory(options);
  host.store.durability = store::DurabilityFromName(options.durability);
  host.store.memory_dir = MemoryDirectory(options);
  host.store.threads = options.compute_threads;
  host.store.memory_bytes = options.embedding_memory;
  host.store.write_back_seconds = options.write_back_seconds;
  auto meta = graph.partitions()[0]->shared_meta();
  auto tensors = std::make_unique<store::TensorHost>(meta, options.parts, std::move(host));
  if (const auto status = tensors->status()) {
    LogInfo("opened ", tensors->ListAll().size(), " tensor shares in ", status->directory);
    for (const std::string& text : status->damage) LogError("tensors: ", text);
  }
  return tensors;
}

}  // namespace graphd
