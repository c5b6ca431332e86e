// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/clock.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/partition/partition_assign.h"
#include "ctl/verbs/partition/partition_input.h"
#include "ctl/verbs/partition/partition_output.h"
#include "ctl/verbs/partition_summary.h"
#include "ctl/verbs/verbs.h"
#include "format/partition_out_of_core.h"
#include "format/partitioner.h"

namespace graphd::ctl {
namespace {

struct PartitionArgs {
  PartitionInput input;
  PartitionOutput output;
  PartitionOptions partition;
  PartitionAssign assign;
  std::optional<uint64_t> memory;  // unset: the graph is partitioned in memory
  bool json = false;
};

// Returns the input in the form that PartitionOutOfCore takes. `cost.read_seconds` is set when
// PartitionOutOfCore has read the input.
GraphSource SourceOf(const PartitionArgs& args, PartitionCost& cost) {
  return {.describe =
              [&] {
                return args.input.Describe({args.partition.output, args.partition.graph_name});
              },
          .read =
              [&](SpillFiles& spill, const StepProgress& progress) {
                const auto start = Clock::now();
                RawGraph graph = args.input.Read(args.partition.output, progress, &spill);
                cost.read_seconds = SecondsSince(start);
                return graph;
              }};
}

void Run(PartitionArgs& args) {
  const auto start = Clock::now();
  args.assign.Apply(args.partition);
  args.output.Apply(args.partition);
  if (!args.memory) CheckPartitionOptions(args.partition);
  PartitionCost cost;
  PartitionSummary summary;
  {
    ProgressLine progress;
    args.partition.progress = progress.Callback();
    if (!args.memory) {
      const RawGraph graph = args.input.Read(args.partition.output, args.partition.progress);
      cost.read_seconds = SecondsSince(start);
      summary = PartitionGraph(graph, args.partition);
    } else {
      summary = PartitionOutOfCore(SourceOf(args, cost), args.partition, *args.memory);
    }
  }
  cost.seconds = SecondsSince(start);
  PrintPartition(summary, cost, args.json);
}

}  // namespace

void AddPartition(CLI::App& app) {
  auto args = std::make_shared<PartitionArgs>();
  CLI::App* verb = app.add_subcommand("partition", "Partition a graph for graphd or DGL");
  args->input.AddOptions(*verb);
  verb->add_option(Flags("graph_name"), args->partition.graph_name, "Name of the graph")
      ->required();
  verb->add_option(Flags("output"), args->partition.output,
                   "Directory for <graph_name>.json and part<i>/")
      ->required();
  args->output.AddOptions(*verb);
  args->assign.AddOptions(*verb);
  verb->add_option(
          Flags("memory"), args->memory,
          "Use at most this much memory, e.g. 4GiB, and the disk of --output for the rest; "
          "repeating a run that was killed continues it (default: partition in memory)")
      ->transform(CLI::AsSizeValue(false));
  verb->add_flag(Flags("force"), args->partition.force, "Replace an existing graph in --output");
  verb->add_flag(Flags("json"), args->json, "Print the summary as JSON");
  verb->footer(
      "Examples:\n"
      "  graphctl partition --input ogbn_products --graph_name products --num_parts 2 \\\n"
      "      --add_reverse --output data\n"
      "  graphctl partition --input my_graph --graph_name mine --num_parts 8 \\\n"
      "      --part_method random --output data --json > summary.json\n"
      "  graphctl partition --input huge.npy --graph_name huge --num_parts 8 \\\n"
      "      --part_method fennel --balance_ntypes train_mask --balance_edges --output data\n"
      "  graphctl partition --input huge.npy --nodes .feat=feat.npy --graph_name huge \\\n"
      "      --num_parts 8 --part_method random --memory 4GiB --output data\n"
      "  graphctl partition --input my_graph --graph_name mine --num_parts 2 \\\n"
      "      --store_as feat=float16 --edge_orig_id no --output data\n"
      "  graphctl partition --input my_graph --graph_name mine --num_parts 2 --num_hops 2 \\\n"
      "      --format dgl --graph_formats csc --output for_dgl");
  verb->callback([args] { Run(*args); });
}

}  // namespace graphd::ctl
