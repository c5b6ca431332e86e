// SPDX-License-Identifier: Apache-2.0
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <iostream>
#include <memory>
#include <set>
#include <string>

#include "tests/unit/store/store_helpers.h"
#include "tests/unit/store/test_keeper.h"

// The process that kept_memory_test kills.
//
//   store_kept_child DIRECTORY PRIVATE NAMED FIRST LAST [WORD...]
//
// Opens the store and makes pushes FIRST to LAST. Kills itself then, or at the point of ChildKeeper
// that a word "at:POINT" names. Other words: "follows" another process, "written" back first, "old"
// for a version that knows no keeper.

using namespace graphd::store;
using namespace graphd::store::testing;

namespace {

void Kill() { ::kill(::getpid(), SIGKILL); }

void Run(char** words, const std::set<std::string>& how) {
  StoreOptions options;
  options.directory = words[1];
  options.memory_dir = words[3];
  options.write_back_seconds = 1e6;
  options.log_segment_bytes = 20000;  // two pushes
  bool stays = true;
  if (!how.contains("old")) {
    const auto keeper = std::make_shared<ChildKeeper>();
    keeper->follows = how.contains("follows");
    keeper->at = [&](const std::string& point) {
      if (how.contains("at:" + point)) Kill();
    };
    options.keeper = keeper;
    options.kept_memory_dir = words[2];
  }
  for (const std::string& word : how) stays = stays && !word.starts_with("at:");
  Store store(options);
  const auto table = store.OpenTable(Spec());
  const uint64_t first = std::strtoull(words[4], nullptr, 10);
  const uint64_t last = std::strtoull(words[5], nullptr, 10);
  if (first <= last) ApplyRandom(store, table, first, last);
  if (how.contains("written")) store.WriteBackNow();
  if (stays) Kill();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  try {
    Run(argv, {argv + 6, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
  }
  return 1;
}
