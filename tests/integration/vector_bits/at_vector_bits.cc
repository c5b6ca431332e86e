// SPDX-License-Identifier: Apache-2.0
// Runs a program with vectors of a given width, and says so. Exits with 77, which ctest shows as
// skipped, if this machine's processor has none of that width: the program would run at another.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/processor.h"

int main(int argc, char** argv) {
  constexpr int kSkipped = 77;
  if (argc < 3) {
    std::fprintf(stderr, "usage: at_vector_bits BITS PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  const std::string bits = argv[1];
  ::setenv(graphd::kVectorBitsVariable, bits.c_str(), 1);
  if (std::to_string(graphd::ChosenVectorBits()) != bits) {
    std::printf("NOT RUN with vectors of %s bits: this processor's have up to %d bits\n", argv[1],
                graphd::ProcessorVectorBits());
    return kSkipped;
  }
  std::printf("with vectors of up to %s bits of this processor's %d:\n", argv[1],
              graphd::ProcessorVectorBits());
  std::fflush(stdout);
  ::execv(argv[2], argv + 2);
  std::perror(argv[2]);
  return 2;
}
