// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/progress.h"
#include "ctl/verbs.h"
#include "format/ogb_raw.h"
#include "format/partitioner.h"

namespace graphd::ctl {
namespace {

struct PartitionArgs {
  std::string input, method = "metis";
  OgbRawOptions read;
  PartitionOptions partition;
  bool json = false;
};

struct Cost {
  double read_seconds = 0, seconds = 0;
  uint64_t peak_bytes = 0;
};

uint64_t PeakMemory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

double CutShare(const PartitionSummary& summary) {
  const int64_t edges = summary.meta->book.edges().total();
  return edges ? static_cast<double>(summary.edge_cut) / static_cast<double>(edges) : 0;
}

void PrintJson(const PartitionSummary& summary, const Cost& cost) {
  nlohmann::ordered_json root;
  const PartitionBook& book = summary.meta->book;
  root["part_config"] = summary.part_config;
  root["graph_name"] = summary.meta->graph_name;
  root["part_method"] = summary.meta->part_method;
  root["num_nodes"] = book.nodes().total();
  root["num_edges"] = book.edges().total();
  root["edge_cut"] = summary.edge_cut;
  root["edge_cut_share"] = CutShare(summary);
  for (PartId p = 0; p < book.num_partitions(); p++) {
    root["parts"].push_back({{"nodes", book.nodes().count_in(p)},
                             {"edges", book.edges().count_in(p)},
                             {"bytes", summary.bytes[static_cast<size_t>(p)]}});
  }
  root["read_seconds"] = cost.read_seconds;
  root["seconds"] = cost.seconds;
  root["peak_memory_bytes"] = cost.peak_bytes;
  std::printf("%s\n", root.dump(2).c_str());
}

void PrintTable(const PartitionSummary& summary, const Cost& cost) {
  const PartitionBook& book = summary.meta->book;
  std::printf("%9s %14s %14s %12s\n", "partition", "nodes", "edges", "size");
  for (PartId p = 0; p < book.num_partitions(); p++) {
    std::printf("%9d %14lld %14lld %12s\n", p, static_cast<long long>(book.nodes().count_in(p)),
                static_cast<long long>(book.edges().count_in(p)),
                HumanBytes(summary.bytes[static_cast<size_t>(p)]).c_str());
  }
  std::printf("%9s %14lld %14lld\n", "all", static_cast<long long>(book.nodes().total()),
              static_cast<long long>(book.edges().total()));
  std::printf("edge cut     %lld edges (%.1f %%) join two partitions\n",
              static_cast<long long>(summary.edge_cut), 100 * CutShare(summary));
  std::printf("time         %.1f s, %.1f s of it reading\n", cost.seconds, cost.read_seconds);
  std::printf("peak memory  %s\n", HumanBytes(cost.peak_bytes).c_str());
  std::printf("part config  %s\n", summary.part_config.c_str());
}

void Run(PartitionArgs& args) {
  const auto start = Clock::now();
  args.partition.method = PartMethodFromName(args.method);
  CheckPartitionOptions(args.partition);
  Cost cost;
  PartitionSummary summary;
  {
    ProgressLine progress;
    args.read.progress = args.partition.progress = progress.Callback();
    const RawGraph graph = ReadOgbRaw(args.input, args.read);
    cost.read_seconds = SecondsSince(start);
    summary = PartitionGraph(graph, args.partition);
  }
  cost.seconds = SecondsSince(start);
  cost.peak_bytes = PeakMemory();
  if (args.json) {
    PrintJson(summary, cost);
  } else {
    PrintTable(summary, cost);
  }
}

}  // namespace

void AddPartition(CLI::App& app) {
  auto args = std::make_shared<PartitionArgs>();
  CLI::App* verb = app.add_subcommand("partition", "Cut a graph into partitions for graphd");
  verb->add_option(Flags("input"), args->input,
                   "Directory in OGB's raw layout: raw/edge.csv.gz, raw/node-feat.csv.gz, ...")
      ->required();
  verb->add_option(Flags("graph_name"), args->partition.graph_name, "Name of the graph")
      ->required();
  verb->add_option(Flags("num_parts"), args->partition.num_parts, "Number of partitions")
      ->required();
  verb->add_option(Flags("output"), args->partition.output,
                   "Directory for <graph_name>.json and part<i>/")
      ->required();
  verb->add_option(Flags("part_method"), args->method,
                   "metis (few edges between partitions) or random")
      ->capture_default_str();
  verb->add_flag(Flags("add_reverse"), args->read.add_reverse,
                 "Add the reverse of every edge, with the same features");
  verb->add_option(Flags("seed"), args->partition.seed, "The same seed gives the same partitions")
      ->capture_default_str();
  verb->add_option(Flags("split"), args->read.split,
                   "Which split/NAME becomes train_mask, val_mask and test_mask; needed if there "
                   "are several");
  verb->add_flag(Flags("force"), args->partition.force, "Replace a graph that is in --output");
  verb->add_flag(Flags("json"), args->json, "Print the summary as JSON");
  verb->footer(
      "Examples:\n"
      "  graphctl partition --input ogbn_products --graph_name products --num_parts 2 \\\n"
      "      --add_reverse --output data\n"
      "  graphctl partition --input my_graph --graph_name mine --num_parts 8 \\\n"
      "      --part_method random --output data --json > summary.json");
  verb->callback([args] { Run(*args); });
}

}  // namespace graphd::ctl
