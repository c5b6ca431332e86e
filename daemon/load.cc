// SPDX-License-Identifier: Apache-2.0
#include "daemon/load.h"

#include <linux/magic.h>
#include <sys/statfs.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/failure.h"
#include "base/log.h"
#include "base/memory_limit.h"
#include "base/strings.h"
#include "base/threads/run_threads.h"
#include "daemon/restart/kept_graph.h"
#include "daemon/restart/switch_record.h"
#include "format/data_files.h"
#include "format/load.h"
#include "format/load_part_config.h"
#include "store/rows/memory_dir.h"

namespace graphd {
namespace {

using Progress = std::function<void(uint64_t done, uint64_t total)>;

// Returns a number that identifies the data for clients that cache rows, so that they recognise it
// when they attach: the hash of the data, or 0 if a file has changed since it was stamped. In the
// latter case, the loaded data may be a mix of the old and the new file.
uint64_t DataId(const std::vector<FileStamp>& files, uint64_t data_hash) {
  for (const FileStamp& file : files) {
    try {
      if (FileStamp::Of(file.path) == file) continue;
    } catch (const Error&) {
    }
    LogWarning(file.path,
               " has changed while it was loaded: clients keep no rows of this graph in ",
               "their row caches, and the graph may be damaged; load it again once all files are ",
               "complete (graphctl server switch, or a restart)");
    return 0;
  }
  return data_hash;
}

void CheckParts(const DaemonOptions& options, const PartConfig& config) {
  const int32_t num_parts = config.meta->book.num_partitions();
  for (PartId part : options.parts) {
    if (part >= 0 && part < num_parts) continue;
    Throw(ErrorCode::kNotFound, "--part_id ", part, ": ", config.path, " has partitions 0..",
          num_parts - 1);
  }
}

// Loads the partitions from their files. `what` names the graph in an error about memory.
KeptGraph LoadPartitions(const DaemonOptions& options, const PartConfig& config,
                         const std::string& what, size_t threads, const Progress& progress) {
  CheckParts(options, config);
  KeptGraph graph;
  graph.part_config = config.path;
  // The files are stamped before they are read: if a file changes meanwhile, the next process sees
  // that it differs from its stamp.
  graph.files = StampDataFiles(config, options.parts);
  uint64_t needed = 0, done = 0;
  for (PartId part : options.parts) {
    needed = AddSizes(needed, EstimatePartitionBytes(config, part));
  }
  CheckMemory(needed, AvailableMemory(), what);
  for (PartId part : options.parts) {
    const auto start = Clock::now();
    LoadOptions loading;
    loading.threads = threads;
    loading.progress = [&](uint64_t of_part, uint64_t) {
      progress(std::min(done + of_part, needed), needed);
    };
    progress(done, needed);
    graph.partitions.push_back(LoadPartition(config, part, loading));
    done += graph.partitions.back()->bytes();
    LogInfo("partition ", part, " of '", config.meta->graph_name,
            "': ", HumanBytes(graph.partitions.back()->bytes()), " in ", SecondsSince(start), " s");
  }
  return graph;
}

// Makes the graph that the daemon serves from the loaded partitions. Builds the arrays that --index
// names, adds them to `loaded`, and calls `each` after each of them.
std::shared_ptr<ServedGraph> Serve(const DaemonOptions& options,
                                   const ServedGraph::IndexMemory& index_memory, KeptGraph& loaded,
                                   uint64_t data_hash, const std::function<void()>& each) {
  std::vector<EdgeIndexSpec> specs;
  for (const std::string& text : options.indexes) {
    specs.push_back(ParseIndex(loaded.partitions.at(0)->meta().schema, text));
  }
  // Arrays that only an earlier process's --index named are left out, so that their memory is
  // freed.
  ServedGraph::Indexes made = std::exchange(loaded.indexes, {});
  std::erase_if(made, [&](const auto& each) {
    return std::find(specs.begin(), specs.end(), each.first.second) == specs.end();
  });
  auto graph = std::make_shared<ServedGraph>(
      loaded.partitions, std::move(made), DataId(loaded.files, data_hash),
      std::array{loaded.node_owners, loaded.edge_owners}, index_memory);
  loaded.node_owners = graph->owners(/*is_edge=*/false).segment;
  loaded.edge_owners = graph->owners(/*is_edge=*/true).segment;
  for (const EdgeIndexSpec& spec : specs) {
    for (PartId part : options.parts) {
      loaded.indexes[{part, spec}] = graph->indexes(part)->Keep(spec);
      each();
    }
  }
  return graph;
}

// Returns the note about the last switch, if it decides which version is served.
std::optional<SwitchRecord> LastSwitch(const DaemonOptions& options) {
  std::optional<SwitchRecord> last = SwitchRecord::Read(SwitchPath(options));
  if (!last) return std::nullopt;
  if (last->Holds(options.part_config)) return last;
  LogInfo("the configuration names ", options.part_config, " now, so the switch to ",
          last->part_config, " no longer counts");
  return std::nullopt;
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
          " is not a writable tmpfs; mount one there, or choose another one (memory_dir in the ",
          "configuration)");
  }
  LogWarning(directory,
             " is not a writable tmpfs: changes of tensors stay in the push log until they are "
             "written back, which is slower; name another tmpfs with --memory_dir");
  return {};
}

}  // namespace

void KeepGraph(const KeptGraph& graph, DescriptorStore& store) {
  if (!DescriptorStore::available()) return;
  LogFailure("giving the graph to the service manager", [&] { graph.Keep(store); });
}

VersionPtr LoadGraph(const DaemonOptions& options, const ServedGraph::IndexMemory& index_memory,
                     DescriptorStore& store,
                     const std::function<void(uint64_t done, uint64_t total)>& progress) {
  const auto start = Clock::now();
  const std::optional<SwitchRecord> last = LastSwitch(options);
  const std::string part_config = last ? last->part_config : options.part_config;
  if (last) {
    LogInfo("serving ", part_config, ", to which this server was switched (", SwitchPath(options),
            ")");
  }
  KeptGraph loaded;
  if (std::optional<KeptGraph> kept = KeptGraph::Take(store, part_config, options.parts)) {
    loaded = *std::move(kept);
    LogInfo("took over the graph of an earlier process within ", SecondsSince(start), " s");
  } else {
    try {
      const PartConfig config = LoadPartConfig(part_config);
      loaded = LoadPartitions(options, config, "graph '" + config.meta->graph_name + "'",
                              UsefulThreads(), progress);
      // The path is kept as it was given, because the next process compares it with its own path.
      loaded.part_config = part_config;
    } catch (const Error& error) {
      if (!last || IsSamePartConfig(part_config, options.part_config)) throw;
      Throw(error.code(), error.what(), " (graphctl server switch has chosen this part config; ",
            "to serve ", options.part_config, " again, remove ", SwitchPath(options), ")");
    }
  }
  auto version = std::make_shared<GraphVersion>();
  version->part_config = part_config;
  const uint64_t data_hash = DataHash(loaded.files);
  version->fingerprint = Fingerprint(data_hash);
  // The version has the id of the last switch only if its files have not changed since.
  const bool is_that_version = last && last->fingerprint == version->fingerprint;
  if (is_that_version) version->id = last->id;
  if (last && !is_that_version) {
    LogWarning("the files of ", part_config, " have changed since this server was switched to it: ",
               "jobs that used them can't go on");
  }
  version->graph = Serve(options, index_memory, loaded, data_hash,
                         [] { sd_notify(0, "EXTEND_TIMEOUT_USEC=60000000"); });
  KeepGraph(loaded, store);
  if (DescriptorStore::available() && !store.Flush()) {
    LogWarning("the service manager does not answer within 5 s");
  }
  // If no switch decides what is served, a note that still exists is about an earlier
  // configuration.
  if (!last) ::unlink(SwitchPath(options).c_str());
  return version;
}

LoadedVersion LoadAnother(const DaemonOptions& options,
                          const ServedGraph::IndexMemory& index_memory,
                          const std::string& part_config, const std::string& id,
                          const GraphVersion& current, const Progress& progress) {
  const PartConfig config = LoadPartConfig(part_config);
  const GraphMeta& served = current.graph->meta();
  if (config.meta->graph_name != served.graph_name) {
    Throw(ErrorCode::kInvalid, part_config, " has graph '", config.meta->graph_name,
          "', and this server serves versions of '", served.graph_name,
          "'; start another server for another graph");
  }
  if (config.meta->book.num_partitions() != served.book.num_partitions()) {
    Throw(ErrorCode::kInvalid, part_config, " has ", config.meta->book.num_partitions(),
          " partitions, and the graph that is served ", served.book.num_partitions(),
          "; partition it into as many, or stop the server and start it with the other graph");
  }
  CheckParts(options, config);
  auto version = std::make_shared<GraphVersion>();
  version->id = id;
  version->part_config = part_config;
  version->fingerprint = Fingerprint(DataHash(StampDataFiles(config, options.parts)));
  if (IsSamePartConfig(part_config, current.part_config) &&
      version->fingerprint == current.fingerprint) {
    version->graph = current.graph;
    return {std::move(version), nullptr};
  }
  auto loaded = std::make_shared<KeptGraph>(LoadPartitions(
      options, config,
      StrCat("graph '", config.meta->graph_name, "' beside the version that is served"),
      /*threads=*/1, progress));  // because requests need the processors
  loaded->part_config = part_config;
  const uint64_t data_hash = DataHash(loaded->files);
  version->fingerprint = Fingerprint(data_hash);
  version->graph = Serve(options, index_memory, *loaded, data_hash, [&] { progress(1, 1); });
  return {std::move(version), std::move(loaded)};
}

std::unique_ptr<store::TensorHost> LoadTensors(const DaemonOptions& options,
                                               const ServedGraph& graph,
                                               std::function<bool()> next_process_follows) {
  store::TensorHost::Options host;
  host.store.directory = StoreDirectory(options);
  host.store.durability = store::DurabilityFromName(options.durability);
  host.store.memory_dir = MemoryDirectory(options);
  host.store.next_process_follows = std::move(next_process_follows);
  host.store.threads = options.compute_threads;
  host.store.memory_bytes = options.embedding_memory;
  host.store.write_back_seconds = options.write_back_seconds;
  auto meta = graph.partitions()[0]->shared_meta();
  auto tensors = std::make_unique<store::TensorHost>(meta, options.parts, std::move(host));
  if (const auto status = tensors->status()) {
    LogInfo("opened ", tensors->ListAll().size(), " partitions of tensors in ", status->directory);
    for (const std::string& text : status->damage) LogError("tensors: ", text);
  }
  return tensors;
}

}  // namespace graphd
