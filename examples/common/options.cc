// SPDX-License-Identifier: Apache-2.0
#include "common/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>

#include "graphd/error.h"

namespace examples {
namespace {

using graphd::Error;
using graphd::ErrorCode;

void AddDataOptions(CLI::App& app, CommonOptions& o) {
  app.add_option("--graph_name", o.graph_name, "Name of the graph; default: that of the servers");
  app.add_option("--ip_config", o.session.ip_config, "Overrides GRAPHD_IP_CONFIG");
  app.add_option("--part_config", o.session.part_config,
                 "Standalone mode, with no servers: opens this part config in-process");
  app.add_option("--feat_name", o.feat_name, "Input feature; default: feat, or features");
}

void AddModelOptions(CLI::App& app, CommonOptions& o) {
  app.add_option("--num_layers", o.num_layers, "Layers of the model")->check(CLI::Range(1, 16));
  app.add_option("--num_hidden", o.num_hidden, "Width of hidden layers")
      ->check(CLI::Range(1, 1 << 16));
  app.add_option("--dropout", o.dropout)->check(CLI::Range(0.0, 0.999));
  app.add_option("--lr", o.lr, "Learning rate of Adam")->check(CLI::PositiveNumber);
  app.add_option("--weight_decay", o.weight_decay)->check(CLI::NonNegativeNumber);
  app.add_option("--seed", o.seed, "Seed of weights, dropout, order and samples");
}

void AddLoopOptions(CLI::App& app, CommonOptions& o) {
  app.add_option("--num_epochs", o.num_epochs)->check(CLI::Range(1, 1 << 20));
  app.add_option("--batch_size", o.batch_size, "Seeds per trainer and step")
      ->check(CLI::Range(1, 1 << 24));
  app.add_option("--batch_size_eval", o.batch_size_eval)->check(CLI::Range(1, 1 << 24));
  app.add_option("--fan_out", o.fan_out, "Neighbours per layer, input layer first; -1: all")
      ->delimiter(',');
  app.add_option("--eval_fan_out", o.eval_fan_out,
                 "Neighbours in evaluation; default: twice --fan_out")
      ->delimiter(',');
  app.add_option("--eval_every", o.eval_every, "Epochs between evaluations; 0: only at the end")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--log_every", o.log_every, "Steps between messages; 0: never")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--num_workers", o.num_workers, "Sampler threads; default: --num_samplers")
      ->check(CLI::Range(-1, 256));
  app.add_option("--num_threads", o.num_threads, "Threads of dense arithmetic")
      ->envname("OMP_NUM_THREADS")
      ->check(CLI::Range(1, 1024));
}

}  // namespace

void AddCommonOptions(CLI::App& app, CommonOptions& o) {
  AddDataOptions(app, o);
  AddModelOptions(app, o);
  AddLoopOptions(app, o);
}

void AddCheckpointOptions(CLI::App& app, CommonOptions& o) {
  app.add_option("--checkpoint", o.checkpoint, "Name of this job's checkpoints: NAME-EPOCHS");
  app.add_option("--checkpoint_every", o.checkpoint_every, "Epochs between checkpoints; 0: never")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--resume", o.resume, "Resume from the latest checkpoint, if there is one");
}

void ParseCommandLine(CLI::App& app, int argc, char** argv, CommonOptions& o) {
  o.session = graphd::Options::FromEnvironment();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : graphd::ExitCode(ErrorCode::kInvalid));
  }
  const auto layers = static_cast<size_t>(o.num_layers);
  if (o.fan_out.size() != layers) {
    throw Error(ErrorCode::kInvalid, "--fan_out has " + std::to_string(o.fan_out.size()) +
                                         " values, --num_layers is " +
                                         std::to_string(o.num_layers) + "; give one per layer");
  }
  if (o.eval_fan_out.empty()) {
    o.eval_fan_out = o.fan_out;
    for (int& fanout : o.eval_fan_out) fanout = fanout < 0 ? fanout : 2 * fanout;
  }
  if (o.eval_fan_out.size() != layers) {
    throw Error(ErrorCode::kInvalid, "--eval_fan_out must have one value per layer, " +
                                         std::to_string(o.num_layers) + " in total");
  }
  if (o.session.server_name.empty() && o.session.part_config.empty()) {
    throw Error(
        ErrorCode::kInvalid,
        "neither a server nor a part config is given; run this with 'graphctl launch', or give "
        "--part_config for standalone mode");
  }
}

}  // namespace examples
