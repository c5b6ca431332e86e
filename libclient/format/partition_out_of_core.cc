// SPDX-License-Identifier: Apache-2.0
#include "format/partition_out_of_core.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "base/file.h"
#include "base/index.h"
#include "base/strings.h"
#include "format/config/part_config.h"
#include "format/external/describe_files.h"
#include "format/external/edge_segments.h"
#include "format/external/graph_manifest.h"
#include "format/external/memory_shares.h"
#include "format/external/node_segments.h"
#include "format/external/run_state.h"
#include "format/external/spilled_edges.h"
#include "format/label_texts.h"
#include "format/native/partition_layout.h"
#include "format/native/partition_writer.h"
#include "format/node_names.h"
#include "format/partition/plan.h"
#include "format/write_part_config.h"

namespace graphd {
namespace {

using nlohmann::ordered_json;

// This version must be raised when the meaning of the state's files changes.
constexpr int kStateVersion = 2;

constexpr const char* kOwners = "owners";
constexpr const char* kEdges = "edges.json";
constexpr const char* kCleared = "cleared";
// A state with this file belongs to a run that had cleared the output when the machine was
// restarted, and has begun again.
constexpr const char* kStartedAgain = "started_again";

std::string StateDirectory(const PartitionOptions& options) {
  namespace fs = std::filesystem;
  if (options.output.empty()) return "";  // CheckPartitionOptions refuses it
  // Paths in the state must stay valid for a later run with another current directory.
  const std::string output = fs::weakly_canonical(fs::absolute(options.output)).string();
  return JoinPath(output, options.graph_name + kStateEnding);
}

// Returns the kernel's id of the current boot, which changes with every start of the machine.
std::string BootId() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (!(file >> id)) {
    Throw(ErrorCode::kIo, "can't read /proc/sys/kernel/random/boot_id, which --memory needs; ",
          "mount /proc, or partition without --memory");
  }
  return id;
}

// Refuses options that can't be written as JSON.
void CheckUtf8(const ordered_json& key) {
  for (const ordered_json& value : key.flatten()) {
    if (!value.is_string() || IsUtf8(value.get_ref<const std::string&>())) continue;
    const auto replace = ordered_json::error_handler_t::replace;
    Throw(ErrorCode::kInvalid, value.dump(-1, ' ', false, replace),
          " in an option is not UTF-8, but --memory requires UTF-8; rename it");
  }
}

// Describes everything that the partitions depend on.
ordered_json KeyOf(const GraphSource& source, const PartitionOptions& options) {
  ordered_json key;
  key["version"] = kStateVersion;
  key["the program's version"] = GRAPHD_VERSION;
  // The state has absolute paths, which would lead to other files if the output was moved.
  key["the directory"] = StateDirectory(options);
  // A restart of the machine loses files that were not synced, so the state can't be used then.
  key[kMachineStart] = BootId();
  key["input"] = source.describe();
  key["--graph_name"] = options.graph_name;
  key["--num_parts"] = options.num_parts;
  key["--part_method"] = PartMethodName(options.method);
  key["--seed"] = options.seed;
  for (const auto& [name, list] : {std::pair("--assignment", &options.assignment),
                                   std::pair("--balance_ntypes", &options.balance_ntypes)}) {
    key[name] = ordered_json::array();
    for (const std::string& argument : *list) {
      const std::string path = argument.substr(argument.find('=') + 1);
      key[name].push_back({argument, DescribeFiles(FileExists(argument) ? argument : path)});
    }
  }
  key["--balance_edges"] = options.balance_edges;
  key["--edge_weights"] = options.edge_weights;
  key["--objtype"] = options.objective == Objective::kCut ? "cut" : "vol";
  key["--edge_orig_id"] = options.storage.edge_orig_id;
  key["--store_as"] = options.storage.store_as;
  CheckUtf8(key);
  return key;
}

class OutOfCore {
 public:
  OutOfCore(const GraphSource& source, const PartitionOptions& options, uint64_t memory,
            RunState& state)
      : source_(source),
        options_(options),
        memory_(memory),
        state_(state),
        spill_(state.directory(), MappedShare(memory)) {}

  PartitionSummary Run() {
    ReadGraph();
    storage_ = MakeStoragePlan(graph_, options_.storage);
    work_ = CheckedWorkShare(graph_, storage_, options_, memory_);
    CheckDisk();
    PartitionSummary summary;
    {
      const NodeOwners owners = Owners();
      summary.classes = CountClasses(graph_, options_, owners);
      DistributeEdges(owners);
      MakeMeta();
      numbering_.clear();
      if (!state_.Has(kCleared)) {
        ClearOutput(options_, state_.directory());
        state_.Write(kCleared, "");
      }
      for (int32_t p = 0; p < options_.num_parts; p++) MakeDirectories(Directory(p));
      WriteEdges();
      WriteNodes(owners);
    }
    RemoveTemporaries(options_);
    summary.node_names = WriteNodeNames(options_.output, options_.graph_name, graph_);
    summary.label_texts = WriteLabelTexts(options_.output, options_.graph_name, graph_);
    summary.meta = meta_;
    for (const SpilledEdges& edges : edges_) summary.edge_cut += edges.edge_cut();
    for (int32_t p = 0; p < options_.num_parts; p++) summary.bytes.push_back(Publish(p));
    WritePartConfig(options_.output, *meta_, PartFormat::kNative);
    summary.part_config = JoinPath(options_.output, options_.graph_name + ".json");
    state_.Remove();
    return summary;
  }

 private:
  std::string Directory(int32_t part) const {
    return JoinPath(options_.output, PartDirectoryName(part));
  }
  static std::string EdgesName(int32_t part) { return PartDirectoryName(part) + ".edges.json"; }
  static std::string NodesName(int32_t part) { return PartDirectoryName(part) + ".nodes.json"; }

  void ReadGraph() {
    if (!HasRawGraph(spill_)) {
      const StepProgress progress = [&](const std::string& step, uint64_t done, uint64_t total) {
        CheckResident(memory_);
        if (options_.progress) options_.progress(step, done, total);
      };
      const RawGraph graph = source_.read(spill_, progress);
      CheckPartitionInput(graph, options_);
      CheckLabelTexts(options_.graph_name, graph);
      // Finds mistakes in store_as before the graph is saved.
      if (!options_.storage.store_as.empty()) MakeStoragePlan(graph, options_.storage);
      SaveRawGraph(graph, spill_);
    }
    graph_ = LoadRawGraph(spill_);
  }

  // Throws if the disk has too little room for what will be written.
  void CheckDisk() const {
    uint64_t needed = 0;
    for (EdgeTypeId e = 0; e < graph_.schema.num_etypes() && !state_.Has(kEdges); e++) {
      needed += Index(graph_.edges[Index(e)].count()) * EdgeBytesOnDisk(graph_, storage_, e);
    }
    if (!state_.Has(kCleared)) needed += ExpectedBytes(graph_, storage_);
    // The neighbours are removed before edges are sorted.
    if (!state_.Has(kOwners)) needed = std::max(needed, NeighbourBytesOnDisk(graph_, options_));
    struct statvfs info {};
    if (::statvfs(state_.directory().c_str(), &info) != 0) {
      ThrowErrno("can't examine the disk of", state_.directory());
    }
    const uint64_t there = uint64_t{info.f_bavail} * info.f_frsize;
    if (needed <= there) return;
    Throw(ErrorCode::kOverloaded, options_.output, ": the disk has room for ", HumanBytes(there),
          ", but the edges and the partitions take ", HumanBytes(needed),
          "; make room and repeat the command, or give an --output on another disk");
  }

  NodeOwners Owners() {
    if (state_.Has(kOwners)) return ReadOwners();
    AssignOptions options = options_;
    options.spill = &spill_;
    options.spill_memory = work_;
    if (options.metis.max_bytes == 0) options.metis.max_bytes = work_;
    NodeOwners owners = AssignNodes(graph_, options, options_.progress).owners;
    const std::string temporary = state_.Path(std::string(kOwners) + ".tmp");
    {
      SpillFile file(temporary);
      for (const auto& of_type : owners) file.Append(std::as_bytes(std::span(of_type)));
      file.Flush();
    }
    std::filesystem::rename(temporary, state_.Path(kOwners));
    return owners;
  }

  NodeOwners ReadOwners() const {
    const std::string path = state_.Path(kOwners);
    const UniqueFd file = OpenFile(path, O_RDONLY);
    NodeOwners owners;
    uint64_t offset = 0;
    for (const RawNodes& nodes : graph_.nodes) {
      auto& of_type = owners.emplace_back(Index(nodes.count));
      const auto bytes = std::as_writable_bytes(std::span(of_type));
      ReadExactly(file.get(), offset, bytes, path);
      offset += bytes.size();
    }
    return owners;
  }

  bool AllHave(std::string (*name)(int32_t)) const {
    for (int32_t p = 0; p < options_.num_parts; p++) {
      if (!state_.Has(name(p))) return false;
    }
    return true;
  }

  // Distributes the edges of all types, unless the state has the edges that an earlier run
  // distributed.
  void DistributeEdges(const NodeOwners& owners) {
    for (const auto& of_type : owners) {
      numbering_.push_back(NumberNodes(of_type, options_.num_parts));
    }
    if (state_.Has(kEdges)) {
      const std::string path = state_.Path(kEdges);
      const ordered_json list = ordered_json::parse(ReadTextFile(path, size_t{1} << 30));
      for (const auto& json : list) edges_.push_back(SpilledEdges::FromJson(json, path));
      const bool fit = std::all_of(edges_.begin(), edges_.end(),
                                   [&](const SpilledEdges& e) { return e.memory() <= work_; });
      // Runs that were formed for more memory can't be sorted in less. This does not matter if the
      // edges of all partitions have already been written.
      if (fit || AllHave(EdgesName)) return;
      // Remove the list first, because the files that it describes will be overwritten.
      std::filesystem::remove(state_.Path(kEdges));
      edges_.clear();
    }
    const Schema& schema = graph_.schema;
    ordered_json list = ordered_json::array();
    for (EdgeTypeId e = 0; e < schema.num_etypes(); e++) {
      edges_.emplace_back(graph_.edges[Index(e)], numbering_[Index(schema.src_type(e))],
                          numbering_[Index(schema.dst_type(e))], EdgeColumns(graph_, storage_, e),
                          work_, state_.Path(StrCat("edges", static_cast<int32_t>(e))),
                          options_.progress);
      list.push_back(edges_.back().ToJson());
    }
    state_.Write(kEdges, list.dump());
  }

  void MakeMeta() {
    std::vector<std::vector<int64_t>> nodes, edges;
    for (const NodeNumbering& of_type : numbering_) nodes.push_back(of_type.Counts());
    for (const SpilledEdges& of_type : edges_) {
      edges.push_back(of_type.Counts(options_.num_parts));
    }
    meta_ = MakeGraphMeta(graph_.schema, options_.graph_name, nodes, edges,
                          PartMethodName(options_.method));
  }

  // Returns a function that adds up the bytes that a step writes, and reports their sum.
  std::function<void(uint64_t)> Counter(const char* step, uint64_t total) {
    done_ = 0;
    return [this, step, total](uint64_t bytes) {
      done_ += bytes;
      if (options_.progress && total) options_.progress(step, std::min(done_, total), total);
    };
  }

  void WriteEdges() {
    uint64_t total = 0;
    for (int32_t p = 0; p < options_.num_parts; p++) {
      const auto part = static_cast<PartId>(p);
      if (state_.Has(EdgesName(p))) continue;
      total += GraphLayout(*meta_, part).total_bytes() +
               EdgeFeatureLayout(graph_, *meta_, storage_, part).total_bytes();
    }
    const auto written = Counter("sorting and writing edges", total);
    for (int32_t p = 0; p < options_.num_parts; p++) {
      const auto part = static_cast<PartId>(p);
      if (state_.Has(EdgesName(p))) continue;
      NativeHeader header{options_.graph_name, part, {}};
      header.segments =
          WriteEdgeSegments(graph_, *meta_, edges_, storage_, Directory(p), part, written);
      state_.Write(EdgesName(p), NativeHeaderText(header));
    }
    for (const SpilledEdges& edges : edges_) edges.Remove();
  }

  void WriteNodes(const NodeOwners& owners) {
    int32_t next = 0;
    while (next < options_.num_parts && state_.Has(NodesName(next))) next++;
    uint64_t total = 0;
    for (int32_t p = next; p < options_.num_parts; p++) {
      total += NodeFeatureLayout(graph_, *meta_, storage_, static_cast<PartId>(p)).total_bytes();
    }
    const auto written = Counter("writing features of nodes", total);
    while (next < options_.num_parts) {
      const int32_t end = std::min(options_.num_parts, next + NodeSegmentsAtOnce(work_));
      const std::vector<NativeSegmentInfo> infos = WriteNodeSegments(
          graph_, *meta_, owners, storage_,
          [&](PartId part) { return Directory(static_cast<int32_t>(part)); }, next, end, work_,
          written);
      for (int32_t p = next; p < end; p++) {
        const NativeHeader header{
            options_.graph_name, static_cast<PartId>(p), {infos[Index(p - next)]}};
        state_.Write(NodesName(p), NativeHeaderText(header));
      }
      next = end;
    }
  }

  // Completes a partition and returns its size.
  uint64_t Publish(int32_t part) {
    if (options_.progress) {
      options_.progress("waiting for the disk", Index(part), Index(options_.num_parts));
    }
    NativeHeader header = ReadNativeHeaderFile(state_.Path(EdgesName(part)), "");
    NativeHeader nodes = ReadNativeHeaderFile(state_.Path(NodesName(part)), "");
    // The segments must be in the order in which WritePartition writes them.
    header.segments.insert(header.segments.begin() + 1, std::move(nodes.segments.at(0)));
    // An existing header may belong to another graph.
    const std::string path = JoinPath(Directory(part), kNativeHeaderFile);
    if (!FileExists(path) || ReadTextFile(path) != NativeHeaderText(header)) {
      PublishPartition(Directory(part), header);
    }
    return header.total_bytes();
  }

  const GraphSource& source_;
  const PartitionOptions& options_;
  const uint64_t memory_;
  RunState& state_;
  SpillFiles spill_;
  RawGraph graph_;
  StoragePlan storage_;
  uint64_t work_ = 0;  // bytes for sorting and buffers
  std::vector<NodeNumbering> numbering_;
  std::vector<SpilledEdges> edges_;
  std::shared_ptr<const GraphMeta> meta_;
  uint64_t done_ = 0;
};

}  // namespace

PartitionSummary PartitionOutOfCore(const GraphSource& source, const PartitionOptions& options,
                                    uint64_t memory) {
  if (options.format != PartFormat::kNative) {
    Throw(ErrorCode::kInvalid,
          "--memory needs --format native: DGL's format is written from memory");
  }
  if (options.num_trainers_per_machine > 1) {
    Throw(ErrorCode::kInvalid, "--memory can't be combined with --num_trainers_per_machine ",
          options.num_trainers_per_machine);
  }
  CheckUtf8(ordered_json(options.output));
  try {
    const ordered_json key = KeyOf(source, options);
    const std::string directory = StateDirectory(options);
    if (!options.force) RunState::CheckNoOther(directory, key);
    PartitionOptions checked = options;
    // A run that continues finds its own earlier output, which must not count as another graph.
    const bool wrote = RunState::MatchesButForStart(directory, key) &&
                       (FileExists(JoinPath(directory, kCleared)) ||
                        FileExists(JoinPath(directory, kStartedAgain)));
    if (wrote) checked.force = true;
    CheckPartitionOptions(checked);
    CheckLeastMemory(memory);
    const bool existed = FileExists(options.output);
    RunState state(directory, key, options.force);
    if (wrote && !state.Has(kCleared)) state.Write(kStartedAgain, "");
    const auto leave_nothing = [&] {
      state.Discard();
      std::error_code ignored;  // the first error is reported
      if (!existed) std::filesystem::remove(options.output, ignored);
    };
    try {
      return OutOfCore(source, options, memory, state).Run();
    } catch (const Error& error) {
      // If the input or an option is refused, the state is removed, because it would block the
      // corrected command.
      const bool refused = error.code() == ErrorCode::kInvalid ||
                           error.code() == ErrorCode::kNotFound ||
                           error.code() == ErrorCode::kCorrupt;
      if (!state.Has(kGraphManifest) || (refused && !state.Has(kOwners))) leave_nothing();
      throw;
    } catch (...) {
      if (!state.Has(kGraphManifest)) leave_nothing();
      throw;
    }
  } catch (const std::bad_alloc&) {
    Throw(ErrorCode::kOverloaded,
          "too little memory; give less than the machine has with --memory");
  } catch (const std::filesystem::filesystem_error& error) {
    Throw(ErrorCode::kIo, error.what());
  }
}

}  // namespace graphd
