// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>

#include "graphd/error.h"
#include "train_sage/options.h"
#include "train_sage/trainer.h"
#include "train_sage/trainer_group.h"

namespace {

// Several trainers share a machine's cores, so each takes what it was given and no more. OpenBLAS
// has threads of its own, which libtorch does not know.
void SetThreads(int threads) {
  torch::set_num_threads(threads);
  using SetThreadsOfBlas = void (*)(int);
  if (void* function = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreadsOfBlas>(function)(threads);
  }
}

int Train(int argc, char** argv) {
  using namespace train_sage;
  TrainOptions options = ParseOptions(argc, argv);
  SetThreads(options.num_threads);
  const graphd::Options& session = options.session;
  TrainerGroup group = TrainerGroup::Join(session.rank, session.world_size);
  Trainer trainer(options, group);
  const double accuracy = trainer.Run();
  const double attach_ms = group.Max(trainer.attach_ms());  // the slowest trainer's
  if (group.is_first()) std::printf("test accuracy: %.4f\nattach: %.1f ms\n", accuracy, attach_ms);
  group.Barrier();  // the first trainer holds the meeting point: nobody leaves before the others
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Train(argc, argv);
  } catch (const graphd::Error& error) {
    std::fprintf(stderr, "train_sage: %s\n", error.what());
    return graphd::ExitCode(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "train_sage: %s\n", error.what());
    return 1;
  }
}
