// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/clock.h"
#include "ctl/plan/part_config_path.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/partition_summary.h"
#include "ctl/verbs/verbs.h"
#include "format/convert.h"
#include "format/load_part_config.h"

namespace graphd::ctl {
namespace {

struct ConvertArgs {
  std::string part_config, output;
  bool force = false, json = false;
};

void Run(const ConvertArgs& args) {
  const auto start = Clock::now();
  PartitionSummary summary;
  {
    ProgressLine progress;
    summary = ConvertPartitions(LoadPartConfig(FindPartConfig(args.part_config)), args.output,
                                args.force, progress.Callback());
  }
  PartitionCost cost;
  cost.seconds = SecondsSince(start);
  PrintPartition(summary, cost, args.json);
}

}  // namespace

void AddConvert(CLI::App& app) {
  auto args = std::make_shared<ConvertArgs>();
  CLI::App* verb = app.add_subcommand(
      "convert", "Convert DGL's partitions to graphd's format, with unchanged ids");
  verb->add_option(Flags("part_config"), args->part_config,
                   "Part config of the partitions, or the directory that contains it")
      ->required();
  verb->add_option(Flags("output"), args->output, "Directory for <graph_name>.json and part<i>/")
      ->required();
  verb->add_flag(Flags("force"), args->force, "Replace an existing graph in --output");
  verb->add_flag(Flags("json"), args->json, "Print the summary as JSON");
  verb->footer(
      "Example:\n"
      "  graphctl convert --part_config dgl_data/products.json --output data");
  verb->callback([args] { Run(*args); });
}

}  // namespace graphd::ctl
