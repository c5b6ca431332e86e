// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

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
constexpr size_t kPieceBytes = size_t{16} << 20;  // bytes that are read at a time

struct TensorsArgs : ClientArgs {
  std::vector<std::string> names;
  std::string output;
};

DistGraph Attach(const TensorsArgs& args) {
  if (!args.runtime_dir.empty()) ::setenv("GRAPHD_RUNTIME_DIR", args.runtime_dir.c_str(), 1);
  return DistGraph(Initialize(ClientOptions(args, "graphctl-tensors")));
}

// Returns the names that make up the type of the nodes or edges to which the tensor's rows belong:
// one for a node type, three for an edge type, none if the tensor has rows of its own (kRange). If
// the graph has no such type, returns the type's number.
std::vector<std::string> TypeOf(const DistGraph& graph, const TensorSpec& spec) {
  if (spec.policy == TensorPolicy::kRange) return {};
  const auto type = static_cast<size_t>(spec.type);
  if (spec.policy == TensorPolicy::kNode) {
    const std::vector<std::string> ntypes = graph.ntypes();
    return {type < ntypes.size() ? ntypes[type] : StrCat(type)};
  }
  const std::vector<CanonicalEdgeType> etypes = graph.canonical_etypes();
  if (type >= etypes.size()) return {StrCat(type)};
  return {etypes[type].src, etypes[type].rel, etypes[type].dst};
}

nlohmann::json ToJson(const DistGraph& graph, const TensorInfo& info) {
  const TensorSpec& spec = info.spec;
  static const char* const kPolicies[kTensorPolicies] = {"node", "edge", "range"};
  return {{"name", spec.name},
          {"dtype", DTypeName(spec.dtype)},
          {"shape", spec.shape()},
          {"policy", kPolicies[static_cast<size_t>(spec.policy)]},
          {"type", Join(TypeOf(graph, spec), ":")},
          {"state", OptimizerStateName(info.state)},
          {"bytes", static_cast<uint64_t>(spec.rows) * spec.row_bytes()},
          {"many_writers", spec.writers == TensorWriters::kMany},
          {"writer", info.holder}};
}

std::string ToText(const DistGraph& graph, const TensorInfo& info) {
  const TensorSpec& spec = info.spec;
  std::vector<std::string> extents;
  for (const int64_t extent : spec.shape()) extents.push_back(std::to_string(extent));
  std::string text =
      StrCat(spec.name, ": ", DTypeName(spec.dtype), " [", Join(extents, ", "), "], ");
  if (spec.policy != TensorPolicy::kRange) {
    text += StrCat("a row per ", spec.policy == TensorPolicy::kNode ? "node" : "edge", " '",
                   Join(TypeOf(graph, spec), ":"), "', ");
  }
  text += HumanBytes(static_cast<uint64_t>(spec.rows) * spec.row_bytes());
  if (info.state != OptimizerState::kNone) {
    text += StrCat(", state ", OptimizerStateName(info.state));
  }
  if (spec.writers == TensorWriters::kMany) text += ", every job may write it";
  if (!info.holder.empty()) text += StrCat(", written by job ", info.holder);
  return text;
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
  for (const TensorInfo& info : all) std::puts(ToText(graph, info).c_str());
  if (all.empty()) std::puts("no tensors that outlive their jobs");
}

// Returns the names that were given, without repetitions, or the names of all tensors if none was
// given. Throws Error(kNotFound) if a tensor does not exist. Does not open the tensors, because
// that fails for one that is damaged or was never filled.
std::vector<std::string> Chosen(const DistGraph& graph, const std::vector<std::string>& given) {
  std::vector<std::string> all;
  for (const TensorInfo& info : DistTensor::List(graph)) all.push_back(info.spec.name);
  if (given.empty()) return all;
  std::vector<std::string> chosen;
  for (const std::string& name : given) {
    if (std::ranges::count(all, name) == 0) {
      Throw(ErrorCode::kNotFound, "there is no tensor '", name,
            "' that outlives its job; see graphctl tensors list");
    }
    if (std::ranges::count(chosen, name) == 0) chosen.push_back(name);
  }
  return chosen;
}

void Drop(const TensorsArgs& args) {
  const DistGraph graph = Attach(args);
  for (const std::string& name : Chosen(graph, args.names)) DistTensor::Drop(graph, name);
}

// Returns the original ids of the nodes or edges to which the rows belong, if the graph has them.
std::optional<DistTensor> OriginalIdsOf(const DistGraph& graph, const TensorSpec& spec) {
  const auto has = [](const std::vector<std::string>& names) {
    return std::ranges::count(names, kOriginalIds) != 0;
  };
  std::optional<DistTensor> ids;
  if (spec.policy == TensorPolicy::kNode && has(graph.ndata_names(NodeTypeId(spec.type)))) {
    ids = graph.ndata(kOriginalIds, NodeTypeId(spec.type));
  }
  if (spec.policy == TensorPolicy::kEdge && has(graph.edata_names(EdgeTypeId(spec.type)))) {
    ids = graph.edata(kOriginalIds, EdgeTypeId(spec.type));
  }
  // If a feature with this name has another dtype or shape, it does not contain ids.
  if (ids && (ids->dtype() != DType::kInt64 || ids->shape().size() != 1)) return {};
  return ids;
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
  const std::vector<std::string> names = Chosen(graph, args.names);
  const std::vector<std::string> stems = FileStemsOf(names);
  MakeExportDirectory(args.output);
  std::vector<std::string> files;
  ProgressLine progress;
  for (size_t i = 0; i < names.size(); i++) {
    try {
      const DistTensor tensor = DistTensor::Open(graph, names[i]);
      NpyRows file(StrCat(args.output, "/", stems[i], ".npy"), tensor.dtype(), tensor.shape());
      ExportRows(graph, tensor, file, progress);
      file.Finish();
      files.push_back(file.path());
    } catch (const Error& error) {
      if (!args.names.empty()) throw;
      // The other tensors are still exported.
      progress.Finish();
      std::fprintf(stderr, "graphctl: tensor '%s' is left out: %s\n", names[i].c_str(),
                   error.what());
      SetExitCode(ExitCode(error.code()));
    }
  }
  progress.Finish();
  if (args.json) return PrintJson({{"files", files}});
  for (const std::string& file : files) std::puts(file.c_str());
  if (names.empty()) std::puts("no tensors that outlive their jobs");
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
