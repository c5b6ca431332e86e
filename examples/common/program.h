// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace examples {

// What main() returns: 0 after train(argc, argv), or the exit code of what it threw, which is told
// on standard error.
int RunProgram(const char* name, int argc, char** argv, void (*train)(int, char**));

// Threads of dense arithmetic in this process, libtorch's and the BLAS's.
void SetThreads(int threads);

}  // namespace examples
