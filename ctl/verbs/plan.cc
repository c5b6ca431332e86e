// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/doctor/memory_needs.h"
#include "ctl/plan/part_config_path.h"
#include "ctl/verbs/verbs.h"
#include "format/load_part_config.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

using nlohmann::ordered_json;

constexpr int kTooLittleMemory = 1;  // exit code

constexpr const char* kPlanExamples = R"(
Nothing is loaded and no host is asked; graphctl doctor compares with the memory that hosts have.
The memory of trainers themselves and of daemons' requests (--peer_memory) comes on top.

Examples:
  graphctl plan data/products.json
  graphctl plan data/products.json --ip_config ip_config.txt --host_memory 64GiB
  graphctl plan data --embedding _N=128 --optimizer adam --tensor _N=256:float16 --json
)";

const std::map<std::string, OptimizerState>& Optimizers() {
  static const std::map<std::string, OptimizerState> optimizers = {
      {"sgd", OptimizerState::kNone},
      {"adagrad", OptimizerState::kAdagrad},
      {"row_adagrad", OptimizerState::kRowAdagrad},
      {"adam", OptimizerState::kAdam}};
  return optimizers;
}

struct PlanArguments {
  std::string path, ip_config;
  std::vector<std::string> embeddings, tensors;
  std::string optimizer = "adagrad";
  uint64_t embedding_memory = 0, host_memory = 0;
  bool json = false;
};

std::string ShapeText(const MemoryItem& item) {
  if (item.dtype.empty()) return "";
  std::string text = item.dtype;
  for (const int64_t extent : item.shape) text += StrCat(" x ", extent);
  return text;
}

void PrintItems(const std::vector<MemoryItem>& items) {
  for (const MemoryItem& item : items) {
    std::printf("    %-44s %-28s %s\n", item.name.c_str(), ShapeText(item).c_str(),
                HumanBytes(item.bytes).c_str());
  }
}

// Describes how much more or less memory a host has than it needs; empty without --host_memory.
std::string Verdict(const HostNeeds& host, uint64_t memory) {
  if (memory == 0) return "";
  if (host.total() <= memory) return StrCat(", ", HumanBytes(memory - host.total()), " are left");
  return StrCat(", ", HumanBytes(host.total() - memory), " more than a host has");
}

void PrintText(const std::vector<HostNeeds>& hosts, const PlanArguments& arguments) {
  uint64_t graph = 0, tensors = 0;
  for (const HostNeeds& host : hosts) {
    std::printf("%s: %s%s\n", host.address.c_str(), HumanBytes(host.total()).c_str(),
                Verdict(host, arguments.host_memory).c_str());
    for (const PartitionNeeds& partition : host.partitions) {
      std::printf("  partition %d: %s\n", static_cast<int32_t>(partition.part),
                  HumanBytes(partition.bytes).c_str());
      PrintItems(partition.arrays);
    }
    if (host.book_bytes > 0) {
      std::printf("  partition book with an owner per id: %s\n",
                  HumanBytes(host.book_bytes).c_str());
    }
    if (!host.tensors.empty()) {
      std::printf("  tensors of the job: %s%s\n", HumanBytes(host.tensor_bytes).c_str(),
                  arguments.embedding_memory > 0 ? ", within --embedding_memory" : "");
      PrintItems(host.tensors);
    }
    graph += host.graph_bytes;
    tensors += host.tensor_bytes;
  }
  std::printf("all hosts: %s, of which the graph %s and tensors of the job %s\n",
              HumanBytes(graph + tensors).c_str(), HumanBytes(graph).c_str(),
              HumanBytes(tensors).c_str());
}

ordered_json Items(const std::vector<MemoryItem>& items) {
  ordered_json list = ordered_json::array();
  for (const MemoryItem& item : items) {
    ordered_json entry = {{"name", item.name}, {"bytes", item.bytes}};
    if (!item.dtype.empty()) {
      entry["dtype"] = item.dtype;
      entry["shape"] = item.shape;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

void PrintJson(const std::vector<HostNeeds>& hosts) {
  ordered_json root;
  root["hosts"] = ordered_json::array();
  uint64_t graph = 0, tensors = 0;
  for (const HostNeeds& host : hosts) {
    ordered_json partitions = ordered_json::array();
    for (const PartitionNeeds& partition : host.partitions) {
      ordered_json entry = {{"part", partition.part}, {"bytes", partition.bytes}};
      entry["arrays"] = Items(partition.arrays);
      partitions.push_back(std::move(entry));
    }
    ordered_json entry = {{"host", host.address},
                          {"bytes", host.total()},
                          {"graph_bytes", host.graph_bytes},
                          {"book_bytes", host.book_bytes},
                          {"tensor_bytes", host.tensor_bytes}};
    entry["partitions"] = std::move(partitions);
    entry["tensors"] = Items(host.tensors);
    root["hosts"].push_back(std::move(entry));
    graph += host.graph_bytes;
    tensors += host.tensor_bytes;
  }
  root["bytes"] = graph + tensors;
  root["graph_bytes"] = graph;
  root["tensor_bytes"] = tensors;
  std::puts(root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

void Run(const PlanArguments& arguments) {
  const PartConfig config = LoadPartConfig(FindPartConfig(arguments.path));
  std::vector<TensorPlan> tensors;
  for (const std::string& text : arguments.embeddings) {
    TensorPlan& tensor = tensors.emplace_back(ParseTensorPlan(text, config, "--embedding"));
    if (tensor.dtype != DType::kFloat32) {
      Throw(ErrorCode::kInvalid, "--embedding '", text,
            "': embeddings are float32; give other dtypes by --tensor");
    }
    tensor.state = Optimizers().at(arguments.optimizer);
  }
  for (const std::string& text : arguments.tensors) {
    tensors.push_back(ParseTensorPlan(text, config, "--tensor"));
  }
  std::vector<HostLine> lines;
  if (!arguments.ip_config.empty()) lines = ReadIpConfig(arguments.ip_config);
  const std::vector<HostNeeds> hosts =
      MemoryNeeds(config, lines, tensors, arguments.embedding_memory);
  if (arguments.json) {
    PrintJson(hosts);
  } else {
    PrintText(hosts, arguments);
  }
  for (const HostNeeds& host : hosts) {
    if (arguments.host_memory > 0 && host.total() > arguments.host_memory) {
      SetExitCode(kTooLittleMemory);
    }
  }
}

}  // namespace

void AddPlan(CLI::App& app) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* verb = app.add_subcommand(
      "plan", "Show the memory that servers and a job will need, before anything is loaded");
  verb->add_option("path", arguments->path,
                   "Part config (graphd's or DGL's), or the directory that contains it")
      ->required();
  verb->add_option(Flags("ip_config"), arguments->ip_config,
                   "File with a line per partition: address [port]; partitions at one address are "
                   "added up (default: each partition has a host of its own)");
  verb->add_option(Flags("embedding"), arguments->embeddings,
                   "An embedding of the job, NTYPE=DIM: a row for each node of a type; repeatable")
      ->allow_extra_args(false);
  verb->add_option(Flags("optimizer"), arguments->optimizer,
                   "The optimiser of the embeddings, whose state is beside the rows")
      ->check(CLI::IsMember({"sgd", "adagrad", "row_adagrad", "adam"}))
      ->capture_default_str();
  verb->add_option(Flags("tensor"), arguments->tensors,
                   "A DistTensor of the job, NTYPE=COLUMNS or NTYPE=COLUMNS:DTYPE; repeatable")
      ->allow_extra_args(false);
  verb->add_option(Flags("embedding_memory"), arguments->embedding_memory,
                   "The limit that servers will have for tensors, e.g. 64GiB (default: none)")
      ->transform(CLI::AsSizeValue(false));
  verb->add_option(Flags("host_memory"), arguments->host_memory,
                   "The memory of a host, e.g. 64GiB; the exit status is 1 if one needs more")
      ->transform(CLI::AsSizeValue(false));
  verb->add_flag(Flags("json"), arguments->json, "Print JSON");
  verb->footer(kPlanExamples + 1);
  verb->callback([arguments] { Run(*arguments); });
}

}  // namespace graphd::ctl
