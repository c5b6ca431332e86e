// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "graphd/initialize.h"

namespace train_sage {

// What the command line says. Names are those of DGL's training scripts.
struct TrainOptions {
  graphd::Options session;  // from the environment, with --ip_config and --part_config over it
  std::string graph_name;   // empty: what the servers serve
  std::string feat_name, label_name;  // empty: feat or features, label or labels
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
  bool row_normalize = false;  // divide each node's features by their sum
  int eval_every = 5;          // epochs; 0: only at the end
  int log_every = 20;          // steps; 0: never
  int num_workers = -1;        // sampler threads; -1: what graphctl launch says
  int num_threads = 1;         // of this trainer's dense arithmetic
  uint64_t seed = 0;
};

// Reads argv and the environment. Prints help and exits by itself when asked for it. Throws
// graphd::Error(kInvalid) on options that contradict one another.
TrainOptions ParseOptions(int argc, char** argv);

}  // namespace train_sage
