// SPDX-License-Identifier: Apache-2.0
#include "common/program.h"

#include <dlfcn.h>
#include <torch/torch.h>

#include <cstdio>
#include <exception>

#include "graphd/error.h"

namespace examples {

int RunProgram(const char* name, int argc, char** argv, void (*train)(int, char**)) {
  try {
    train(argc, argv);
    return 0;
  } catch (const graphd::Error& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return graphd::ExitCode(error.code());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

// Trainers share a machine's cores, so each uses exactly the given number of threads. OpenBLAS has
// its own threads, which libtorch does not control.
void SetThreads(int threads) {
  torch::set_num_threads(threads);
  using SetThreadsOfBlas = void (*)(int);
  if (void* function = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreadsOfBlas>(function)(threads);
  }
}

}  // namespace examples
