// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <set>
#include <string>

#include "tests/unit/store/store_helpers.h"

// The process that left_memory_test kills.
//
//   store_memory_child DIRECTORY TMPFS FIRST LAST [WORD...]
//
// Opens the store and makes pushes FIRST to LAST. Kills itself then, or "at end", when all is in
// RocksDB. Another word: "written" back first.

using namespace graphd::store;
using namespace graphd::store::testing;

namespace {

void Kill() { ::kill(::getpid(), SIGKILL); }

void Run(char** words, const std::set<std::string>& how) {
  StoreOptions options;
  options.directory = words[1];
  options.memory_dir = words[2];
  options.write_back_seconds = 1e6;
  options.log_segment_bytes = 20000;  // two pushes
  options.next_process_follows = [&how] {
    if (how.contains("at end")) Kill();
    return false;
  };
  Store store(options);
  const auto table = store.OpenTable(Spec());
  const uint64_t first = std::strtoull(words[3], nullptr, 10);
  const uint64_t last = std::strtoull(words[4], nullptr, 10);
  if (first <= last) ApplyRandom(store, table, first, last);
  if (how.contains("written")) store.WriteBackNow();
  if (!how.contains("at end")) Kill();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return 2;
  try {
    Run(argv, {argv + 5, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
