// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/doctor/memory_needs.h"
#include "ctl/doctor/trainer_needs.h"
#include "ctl/plan/part_config_path.h"
#include "ctl/verbs/row_cache_bytes.h"
#include "ctl/verbs/verbs.h"
#include "format/load_part_config.h"
#include "graph/id_json.h"

namespace graphd::ctl {
namespace {

using nlohmann::ordered_json;

constexpr int kTooLittleMemory = 1;  // exit code

constexpr const char* kPlanExamples = R"(
Nothing is loaded and no host is asked; graphctl doctor compares with the memory that hosts have.
Of trainers, what the library takes is counted if one of their options is given. Their models,
batches and Python, and the memory of daemons' requests (--peer_memory), come on top.

Examples:
  graphctl plan data/products.json
  graphctl plan data/products.json --ip_config ip_config.txt --host_memory 64GiB
  graphctl plan data --embedding _N=128 --optimizer adam --tensor _N=256:float16 --json
  graphctl plan data --num_trainers 4 --trainer_hosts gpus.txt --row_cache 8GiB
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
  std::string path, ip_config, trainer_hosts, row_cache;
  std::vector<std::string> embeddings, tensors;
  std::string optimizer = "adagrad";
  uint64_t embedding_memory = 0, host_memory = 0;
  int num_trainers = 1, num_samplers = 0;
  bool has_trainers = false;  // an option for trainers was given
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

// Returns a text that says how much memory is left or missing on a host with `memory` bytes; empty
// if `memory` is 0 (--host_memory was not given).
std::string Verdict(const HostNeeds& host, uint64_t memory) {
  if (memory == 0) return "";
  if (host.total() <= memory) return StrCat(", ", HumanBytes(memory - host.total()), " are left");
  return StrCat(", ", HumanBytes(host.total() - memory), " more than a host has");
}

// The memory of all hosts.
struct Sums {
  uint64_t graph = 0, tensors = 0, trainers = 0;
  uint64_t total() const noexcept { return graph + tensors + trainers; }
};

Sums SumOf(const std::vector<HostNeeds>& hosts) {
  Sums sums;
  for (const HostNeeds& host : hosts) {
    sums.graph += host.graph_bytes;
    sums.tensors += host.tensor_bytes;
    sums.trainers += host.trainer_bytes;
  }
  return sums;
}

void PrintTrainers(const HostNeeds& host, int num_samplers) {
  if (host.trainers == 0) return;
  std::string text = StrCat("  ", host.trainers, host.trainers == 1 ? " trainer" : " trainers");
  if (num_samplers > 0) text += StrCat(" with ", num_samplers, " sampler threads each");
  text += ", without models, batches and Python: " + HumanBytes(host.trainer_bytes);
  std::puts(text.c_str());
  PrintItems(host.trainer_items);
}

void PrintText(const std::vector<HostNeeds>& hosts, const PlanArguments& arguments) {
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
    PrintTrainers(host, arguments.num_samplers);
  }
  const Sums sums = SumOf(hosts);
  std::string text = StrCat("all hosts: ", HumanBytes(sums.total()), ", of which the graph ",
                            HumanBytes(sums.graph), arguments.has_trainers ? ", " : " and ",
                            "tensors of the job ", HumanBytes(sums.tensors));
  if (arguments.has_trainers) text += " and its trainers " + HumanBytes(sums.trainers);
  std::puts(text.c_str());
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

void PrintJson(const std::vector<HostNeeds>& hosts, int num_samplers) {
  ordered_json root;
  root["hosts"] = ordered_json::array();
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
                          {"tensor_bytes", host.tensor_bytes},
                          {"trainers", host.trainers},
                          {"samplers", host.trainers * num_samplers},
                          {"trainer_bytes", host.trainer_bytes}};
    entry["partitions"] = std::move(partitions);
    entry["tensors"] = Items(host.tensors);
    entry["of_trainers"] = Items(host.trainer_items);
    root["hosts"].push_back(std::move(entry));
  }
  const Sums sums = SumOf(hosts);
  root["bytes"] = sums.total();
  root["graph_bytes"] = sums.graph;
  root["tensor_bytes"] = sums.tensors;
  root["trainer_bytes"] = sums.trainers;
  std::puts(root.dump(2, ' ', false, ordered_json::error_handler_t::replace).c_str());
}

TrainersPlan TrainersOf(const PlanArguments& arguments) {
  TrainersPlan plan;
  plan.num_trainers = arguments.num_trainers;
  if (!arguments.trainer_hosts.empty()) plan.hosts = ReadTrainerHosts(arguments.trainer_hosts);
  plan.row_cache = RowCacheBytes(arguments.row_cache);
  plan.has_tensors = !arguments.embeddings.empty() || !arguments.tensors.empty();
  return plan;
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
  std::vector<HostNeeds> hosts = MemoryNeeds(config, lines, tensors, arguments.embedding_memory);
  if (arguments.has_trainers) AddTrainers(TrainersOf(arguments), config, lines, hosts);
  if (arguments.json) {
    PrintJson(hosts, arguments.num_samplers);
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
  const std::vector<CLI::Option*> of_trainers = {
      verb->add_option(Flags("num_trainers"), arguments->num_trainers,
                       "Trainers per ip_config line and host of --trainer_hosts, as of graphctl "
                       "launch (default: 1 if another option of trainers is given, else none)")
          ->check(CLI::Range(0, 4096)),
      verb->add_option(
              Flags("num_samplers"), arguments->num_samplers,
              "Sampler threads of each trainer's data loaders; they are shown, and take no "
              "memory of their own but for batches")
          ->check(CLI::Range(0, 4096)),
      verb->add_option(Flags("row_cache"), arguments->row_cache,
                       "Memory on each machine for rows of features that other machines serve, "
                       "e.g. 2GiB")
          ->type_name("BYTES"),
      verb->add_option(
          Flags("trainer_hosts"), arguments->trainer_hosts,
          "File with a line 'address [trainers]' per host that serves no partition and "
          "only runs trainers")};
  verb->add_flag(Flags("json"), arguments->json, "Print JSON");
  verb->footer(kPlanExamples + 1);
  verb->callback([arguments, of_trainers] {
    const auto is_given = [](const CLI::Option* option) { return option->count() > 0; };
    arguments->has_trainers = std::ranges::any_of(of_trainers, is_given);
    Run(*arguments);
  });
}

}  // namespace graphd::ctl
