// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/file.h"
#include "base/strings.h"
#include "tests/fuzz/support/target.h"

// Joins a target to libFuzzer, and writes its seeds: `TARGET --seeds DIRECTORY`.

namespace graphd::fuzz {
namespace {

// The largest file, also in memory, that an input may cause.
constexpr rlim_t kMaxFileBytes = rlim_t{64} << 20;

void WriteSeeds(const std::string& directory) {
  MakeDirectories(directory);
  size_t number = 0;
  for (const std::string& seed : Seeds()) {
    WriteFileAtomically(StrCat(directory, "/seed-", number++), seed);
  }
}

}  // namespace

void CheckError(const Error& error) {
  if (error.code() != ErrorCode::kInternal) return;
  std::fprintf(stderr, "an input caused an error of the kind internal: %s\n", error.what());
  std::abort();
}

void Touch(std::span<const std::byte> bytes) {
  unsigned sum = 0;
  for (const std::byte each : bytes) sum += static_cast<unsigned>(each);
  [[maybe_unused]] volatile unsigned used = sum;
}

}  // namespace graphd::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  if (*argc == 3 && std::strcmp((*argv)[1], "--seeds") == 0) {
    graphd::fuzz::WriteSeeds((*argv)[2]);
    std::exit(0);
  }
  // A larger file ends the process with SIGXFSZ, which libFuzzer reports.
  const rlimit limit{graphd::fuzz::kMaxFileBytes, graphd::fuzz::kMaxFileBytes};
  ::setrlimit(RLIMIT_FSIZE, &limit);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  graphd::fuzz::Attempt([&] {
    graphd::fuzz::ReadInput({reinterpret_cast<const char*>(data), size});
  });
  return 0;
}
