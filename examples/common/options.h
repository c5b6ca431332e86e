// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/initialize.h"

namespace CLI {
class App;
}

namespace examples {

// What the command lines of all examples have. Names are those of DGL's training scripts.
struct CommonOptions {
  graphd::Options session;  // from the environment, with --ip_config and --part_config over it
  std::string graph_name;   // empty: what the servers serve
  std::string feat_name;    // empty: feat or features
  int num_epochs = 20;
  int64_t batch_size = 1000;       // seeds per trainer and step
  int64_t batch_size_eval = 2000;  // the same for evaluation
  std::vector<int> fan_out{10, 25};
  std::vector<int> eval_fan_out;  // of validation and test; default: 2 * fan_out
  int num_layers = 2;
  int64_t num_hidden = 128;
  double lr = 0.003;
  double dropout = 0.5;
  double weight_decay = 0;
  int eval_every = 5;    // epochs; 0: only at the end
  int log_every = 20;    // steps; 0: never
  int num_workers = -1;  // sampler threads; -1: what graphctl launch says
  int num_threads = 1;   // of this trainer's dense arithmetic
  uint64_t seed = 0;
  std::string checkpoint = "checkpoint";  // checkpoints are NAME-1, NAME-2 ...
  int checkpoint_every = 0;               // epochs; 0: never
  bool resume = false;                    // from the latest of them, if there is one

  // Of this trainer's own draws (order, samples, dropout): trainers that share seeds would
  // otherwise share samples. The weights come from `seed` itself and are the same everywhere.
  uint64_t SeedOfTrainer() const { return seed * 1'000'003 + static_cast<uint64_t>(session.rank); }
};

// Adds the options above. `options` must outlive the parsing.
void AddCommonOptions(CLI::App& app, CommonOptions& options);
// For programs that train by NodeTrainer.
void AddCheckpointOptions(CLI::App& app, CommonOptions& options);

// Reads the environment, then argv. Prints help and exits by itself when asked for it, or on
// options that are none. Throws graphd::Error(kInvalid) on options that contradict one another.
void ParseCommandLine(CLI::App& app, int argc, char** argv, CommonOptions& options);

}  // namespace examples
