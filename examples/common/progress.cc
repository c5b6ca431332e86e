// SPDX-License-Identifier: Apache-2.0
#include "common/progress.h"

#include <charconv>
#include <cstdio>
#include <sstream>

#include "graphd/checkpoint.h"

namespace examples {
namespace {

constexpr const char* kDenseFile = "dense.pt";

// Returns the number of epochs in a checkpoint's name, or nothing if it is not one of this job's.
std::optional<int> EpochsOf(const std::string& name, const std::string& prefix) {
  if (!name.starts_with(prefix + "-")) return std::nullopt;
  const char* begin = name.data() + prefix.size() + 1;
  const char* end = name.data() + name.size();
  int epochs = 0;
  const auto [at, error] = std::from_chars(begin, end, epochs);
  if (error != std::errc() || at != end) return std::nullopt;
  return epochs;
}

// Saves one trainer's parameters and states, which are equal in all trainers; a trainer's own count
// of dropout draws advances equally in all of them.
std::string Save(const Progress& progress, const torch::nn::Module& model,
                 const SharedOptimizer& optimizer) {
  torch::serialize::OutputArchive archive, dense, adam;
  model.save(dense);
  optimizer.Save(adam);
  archive.write("model", dense);
  archive.write("adam", adam);
  archive.write("progress", torch::tensor({static_cast<double>(progress.epochs),
                                           progress.best_valid, progress.test_of_best},
                                          torch::kFloat64));
  std::ostringstream bytes;
  archive.save_to(bytes);
  return bytes.str();
}

Progress Load(const std::string& bytes, torch::nn::Module& model, SharedOptimizer& optimizer) {
  torch::serialize::InputArchive archive, dense, adam;
  std::istringstream stream(bytes);
  archive.load_from(stream);
  archive.read("model", dense);
  archive.read("adam", adam);
  model.load(dense);
  optimizer.Load(adam);
  torch::Tensor numbers;
  archive.read("progress", numbers);
  return {.epochs = static_cast<int>(numbers[0].item<double>()),
          .best_valid = numbers[1].item<double>(),
          .test_of_best = numbers[2].item<double>()};
}

}  // namespace

// If a server is unavailable and the checkpoint fails, the job continues.
void JobCheckpoints::Make(const Progress& progress, const torch::nn::Module& model,
                          const SharedOptimizer& optimizer) const {
  const std::string name = options_.checkpoint + "-" + std::to_string(progress.epochs);
  try {
    const graphd::Checkpoint made = graphd::CreateCheckpoint(
        graph_, name, {.files = {{kDenseFile, Save(progress, model, optimizer)}}});
    std::printf("checkpoint %s: %zu tensors, %llu bytes\n", name.c_str(), made.tensors.size(),
                static_cast<unsigned long long>(made.bytes));
  } catch (const graphd::Error& error) {
    std::printf("checkpoint %s failed: %s\n", name.c_str(), error.what());
  }
  std::fflush(stdout);
}

void JobCheckpoints::AfterEpoch(const Progress& progress, const torch::nn::Module& model,
                                const SharedOptimizer& optimizer) const {
  if (options_.checkpoint_every == 0 || progress.epochs % options_.checkpoint_every != 0) return;
  group_.Barrier();  // the checkpoint must include every step of every trainer
  if (group_.is_first()) Make(progress, model, optimizer);
  group_.Barrier();
}

std::optional<Progress> JobCheckpoints::Resume(torch::nn::Module& model,
                                               SharedOptimizer& optimizer) const {
  if (!options_.resume) return std::nullopt;
  std::string latest;
  int epochs = 0;
  for (const graphd::Checkpoint& checkpoint : graphd::ListCheckpoints(graph_)) {
    const std::optional<int> its = EpochsOf(checkpoint.name, options_.checkpoint);
    if (its && *its > epochs) {
      epochs = *its;
      latest = checkpoint.name;
    }
  }
  if (latest.empty()) return std::nullopt;
  if (group_.is_first()) {
    graphd::RestoreCheckpoint(graph_, latest);
    std::printf("resuming from checkpoint %s\n", latest.c_str());
    std::fflush(stdout);
  }
  group_.Barrier();
  return Load(graphd::ReadCheckpointFile(graph_, latest, kDenseFile), model, optimizer);
}

}  // namespace examples
