// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <memory>

namespace examples {

// The group of all trainers of a job: computes sums and maxima over them with gloo. One trainer
// alone uses no network. Used by one thread. Every call is collective: all trainers make it in the
// same order, with tensors of the same shape.
class TrainerGroup {
 public:
  // Meets the other trainers at MASTER_ADDR and MASTER_PORT, like torch.distributed's env://.
  // Throws graphd::Error(kInvalid) on a missing or invalid variable, c10::Error if they do not
  // arrive.
  static TrainerGroup Join(int rank, int world_size);
  TrainerGroup(TrainerGroup&&) noexcept;
  ~TrainerGroup();

  int rank() const noexcept { return rank_; }
  int world_size() const noexcept { return world_size_; }
  bool is_first() const noexcept { return rank_ == 0; }

  // Replaces the (CPU, contiguous) tensor by the element-wise sum over all trainers.
  void Sum(torch::Tensor tensor);
  // Returns the largest value of any trainer.
  double Max(double value);
  // Returns when all trainers have called it.
  void Barrier() { Max(0); }

 private:
  struct Network;
  TrainerGroup(int rank, int world_size, std::unique_ptr<Network> network);
  int rank_, world_size_;
  std::unique_ptr<Network> network_;  // null if there is one trainer
};

}  // namespace examples
