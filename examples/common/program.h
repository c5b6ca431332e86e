// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace examples {

// Runs train(argc, argv) and returns main()'s result: 0, or the exit code of an error, which is
// printed on standard error.
int RunProgram(const char* name, int argc, char** argv, void (*train)(int, char**));

// Sets the number of threads for dense arithmetic, both libtorch's and the BLAS's.
void SetThreads(int threads);

}  // namespace examples
