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

// The command-line options that all examples share. Their names are those of DGL's training
// scripts.
struct CommonOptions {
  graphd::Options session;  // read from the environment; --ip_config and --part_config override it
  std::string graph_name;   // empty: the graph of the servers
  std::string feat_name;    // empty: feat or features
  int num_epochs = 20;
  int64_t batch_size = 1000;       // seeds per trainer and step
  int64_t batch_size_eval = 2000;  // the same for evaluation
  std::vector<int> fan_out{10, 25};
  std::vector<int> eval_fan_out;  // for validation and test; default: 2 * fan_out
  int num_layers = 2;
  int64_t num_hidden = 128;
  double lr = 0.003;
  double dropout = 0.5;
  double weight_decay = 0;
  int eval_every = 5;    // epochs; 0: only at the end
  int log_every = 20;    // steps; 0: never
  int num_workers = -1;  // sampler threads; -1: set by graphctl launch
  int num_threads = 1;   // threads of this trainer's dense arithmetic
  uint64_t seed = 0;
  std::string checkpoint = "checkpoint";  // checkpoints are NAME-1, NAME-2 ...
  int checkpoint_every = 0;               // epochs; 0: never
  bool resume = false;                    // start from the latest checkpoint, if any

  // Returns the seed of this trainer's random choices (order, samples, dropout): trainers with the
  // same seed would draw the same samples. The weights use `seed` itself and are equal in all
  // trainers.
  uint64_t SeedOfTrainer() const { return seed * 1'000'003 + static_cast<uint64_t>(session.rank); }
};

// Adds the options above. `options` must outlive the parsing.
void AddCommonOptions(CLI::App& app, CommonOptions& options);
// Adds the options for programs that use NodeTrainer.
void AddCheckpointOptions(CLI::App& app, CommonOptions& options);

// Reads the environment, then argv. Prints help and exits if it is requested, and exits with an
// error on invalid options. Throws graphd::Error(kInvalid) on contradictory options.
void ParseCommandLine(CLI::App& app, int argc, char** argv, CommonOptions& options);

}  // namespace examples
