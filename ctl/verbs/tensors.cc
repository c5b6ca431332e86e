// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/strings.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/client_options.h"
#include "ctl/verbs/npy_rows.h"
#include "ctl/verbs/verbs.h"
#include "graphd/dist_graph.h"
#include "graphd/dist_tensor.h"

namespace graphd::ctl {
namespace {

constexpr const char* kTensorsExamples = R"(
Examples:
  graphctl tensors list --server_name products --ip_config ip_config.txt
  graphctl tensors export emb --output /tmp/emb --server_name products --ip_config ip_config.txt
  graphctl tensors drop emb --server_name products --ip_config ip_config.txt
)";

constexpr const char* kOriginalIds = "orig_id";   // a feature that graphctl partition writes
constexpr size_t kPieceBytes = size_t{16} << 20;  // read at once

struct TensorsArgs : ClientArgs {
  std::vector<std::string> names;
  std::string output;
};

DistGraph Attach(const TensorsArgs& args) {
  if (!args.runtime_dir.empty()) ::setenv("GRAPHD_RUNTIME_DIR", args.runtime_dir.c_str(), 1);
  return DistGraph(Initialize(ClientOptions(args, "graphctl-tensors")));
}

// Returns what a row belongs to, for a line of text: "a row per node 'item', " or nothing.
std::string OwnerOf(const DistGraph& graph, const TensorSpec& spec) {
  const auto type = static_cast<size_t>(spec.type);
  if (spec.policy == TensorPolicy::kNode) {
    return StrCat("a row per node '", graph.ntypes().at(type), "', ");
  }
  if (spec.policy == TensorPolicy::kEdge) {
    const CanonicalEdgeType etype = graph.canonical_etypes().at(type);
    return StrCat("a row per edge '", etype.src, ",", etype.rel, ",", etype.dst, "', ");
  }
  return "";
}

nlohmann::json ToJson(const DistGraph& graph, const TensorInfo& info) {
  const TensorSpec& spec = info.spec;
  nlohmann::json type = nullptr;
  if (spec.policy == TensorPolicy::kNode) type = graph.ntypes().at(static_cast<size_t>(spec.type));
  if (spec.policy == TensorPolicy::kEdge) {
    const CanonicalEdgeType etype = graph.canonical_etypes().at(static_cast<size_t>(spec.type));
    type = {etype.src, etype.rel, etype.dst};
  }
  static const char* const kPolicies[kTensorPolicies] = {"node", "edge", "range"};
  return {{"name", spec.name},
          {"dtype", DTypeName(spec.dtype)},
          {"shape", spec.shape()},
          {"policy", kPolicies[static_cast<size_t>(spec.policy)]},
          {"type", type},
          {"state", OptimizerStateName(info.state)},
          {"bytes", static_cast<uint64_t>(spec.rows) * spec.row_bytes()},
          {"writer", info.holder}};
}

void PrintJson(const nlohmann::json& json) {
  std::puts(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void List(const TensorsArgs& args) {
  const DistGraph graph = Attach(args);
  const std::vector<TensorInfo> all = DistTensor::List(graph);
  if (args.json) {
    nlohmann::json list = nlohmann::json::array();
    for (const TensorInfo& info : all) list.push_back(ToJson(graph, info));
    return PrintJson(list);
  }
  for (const TensorInfo& info : all) {
    const TensorSpec& spec = info.spec;
    std::vector<std::string> extents;
    for (const int64_t extent : spec.shape()) extents.push_back(std::to_string(extent));
    std::string line = StrCat(spec.name, ": ", DTypeName(spec.dtype), " [", Join(extents, ", "),
                              "], ", OwnerOf(graph, spec),
                              HumanBytes(static_cast<uint64_t>(spec.rows) * spec.row_bytes()));
    if (info.state != OptimizerState::kNone) {
      line += StrCat(", state ", OptimizerStateName(info.state));
    }
    if (!info.holder.empty()) line += StrCat(", written by job ", info.holder);
    std::puts(line.c_str());
  }
  if (all.empty()) std::puts("no tensors that outlive their jobs");
}

void Drop(const TensorsArgs& args) {
  const DistGraph graph = Attach(args);
  // Looks for all of them before the first is dropped.
  for (const std::string& name : args.names) DistTensor::Open(graph, name);
  for (const std::string& name : args.names) DistTensor::Drop(graph, name);
}

// Returns the original ids of the rows' nodes or edges, if the graph has them.
std::optional<DistTensor> OriginalIdsOf(const DistGraph& graph, const TensorSpec& spec) {
  const auto has = [](const std::vector<std::string>& names) {
    return std::count(names.begin(), names.end(), kOriginalIds) != 0;
  };
  if (spec.policy == TensorPolicy::kNode && has(graph.ndata_names(NodeTypeId(spec.type)))) {
    return graph.ndata(kOriginalIds, NodeTypeId(spec.type));
  }
  if (spec.policy == TensorPolicy::kEdge && has(graph.edata_names(EdgeTypeId(spec.type)))) {
    return graph.edata(kOriginalIds, EdgeTypeId(spec.type));
  }
  return {};
}

void ExportRows(const DistGraph& graph, const DistTensor& tensor, NpyRows& file,
                ProgressLine& progress) {
  const std::optional<DistTensor> ids = OriginalIdsOf(graph, tensor.spec());
  const int64_t rows = tensor.num_rows();
  const auto piece =
      static_cast<int64_t>(std::max<size_t>(kPieceBytes / tensor.spec().row_bytes(), 1));
  for (int64_t begin = 0; begin < rows; begin += piece) {
    const int64_t end = std::min(begin + piece, rows);
    const Tensor values = tensor.Slice(begin, end);
    Tensor orig_ids;
    std::span<const int64_t> places;
    if (ids) {
      orig_ids = ids->Slice(begin, end);
      places = orig_ids.as<int64_t>();
    }
    file.Write(begin, places, {values.data(), values.num_bytes()});
    progress.Show("tensor " + tensor.name(), static_cast<uint64_t>(end),
                  static_cast<uint64_t>(rows));
  }
}

void Export(const TensorsArgs& args) {
  const DistGraph graph = Attach(args);
  std::vector<std::string> names = args.names;
  if (names.empty()) {
    for (const TensorInfo& info : DistTensor::List(graph)) names.push_back(info.spec.name);
  }
  std::vector<DistTensor> tensors;
  for (const std::string& name : std::set(names.begin(), names.end())) {
    tensors.push_back(DistTensor::Open(graph, name));
  }
  MakeExportDirectory(args.output);
  std::vector<std::string> files;
  ProgressLine progress;
  for (const DistTensor& tensor : tensors) {
    NpyRows file(StrCat(args.output, "/", FileNameOf(tensor.name()), ".npy"), tensor.dtype(),
                 tensor.shape());
    ExportRows(graph, tensor, file, progress);
    files.push_back(file.path());
  }
  progress.Finish();
  if (args.json) return PrintJson({{"files", files}});
  for (const std::string& file : files) std::puts(file.c_str());
}

CLI::App* AddTensorsAction(CLI::App& verb, const std::shared_ptr<TensorsArgs>& args,
                           const char* name, const char* what, void (*action)(const TensorsArgs&)) {
  CLI::App* added = verb.add_subcommand(name, what);
  added->footer(kTensorsExamples);
  AddClientOptions(*added, *args);
  added->callback([args, action] { action(*args); });
  return added;
}

}  // namespace

void AddTensors(CLI::App& app) {
  auto args = std::make_shared<TensorsArgs>();
  CLI::App* verb = app.add_subcommand("tensors", "List, export and drop tensors and embeddings");
  verb->require_subcommand(1);
  verb->footer(kTensorsExamples);
  AddTensorsAction(*verb, args, "list", "List the tensors that outlive their jobs", List);
  CLI::App* exported = AddTensorsAction(*verb, args, "export",
                                        "Write the present rows of tensors to .npy files", Export);
  exported->add_option("name", args->names, "Tensors to export (default: all)");
  exported->add_option("--output", args->output, "Directory to create")->required();
  AddTensorsAction(*verb, args, "drop", "Delete tensors with all rows, for good", Drop)
      ->add_option("name", args->names, "Tensors to drop")
      ->required();
}

}  // namespace graphd::ctl
