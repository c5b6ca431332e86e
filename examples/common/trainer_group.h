// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <torch/torch.h>

#include <memory>

namespace examples {

// The trainers of a job as one: sums and maxima over all of them, by gloo. With one trainer there
// is no network at all. Used by one thread; every call is collective: all trainers make it, in the
// same order, with tensors of one shape.
class TrainerGroup {
 public:
  // Meets the others at MASTER_ADDR and MASTER_PORT, as torch.distributed's env:// does. Throws
  // graphd::Error(kInvalid) on a missing or senseless variable, c10::Error if they do not come.
  static TrainerGroup Join(int rank, int world_size);
  TrainerGroup(TrainerGroup&&) noexcept;
  ~TrainerGroup();

  int rank() const noexcept { return rank_; }
  int world_size() const noexcept { return world_size_; }
  bool is_first() const noexcept { return rank_ == 0; }

  // Replaces the (CPU, contiguous) tensor by the element-wise sum over all trainers.
  void Sum(torch::Tensor tensor);
  // The largest value any trainer gave.
  double Max(double value);
  // Returns when all trainers have called it.
  void Barrier() { Max(0); }

 private:
  struct Network;
  TrainerGroup(int rank, int world_size, std::unique_ptr<Network> network);
  int rank_, world_size_;
  std::unique_ptr<Network> network_;  // null for one trainer
};

}  // namespace examples
