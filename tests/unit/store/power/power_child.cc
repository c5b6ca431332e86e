// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>
#include <thread>
#include <vector>

#include "store/checkpoint/set.h"
#include "tests/unit/store/crash_steps.h"
#include "tests/unit/store/power/power_journal.h"
#include "tests/unit/store/power/power_marks.h"

// store_power_child DIRECTORY CHECKPOINT STEP...: opens the store and continues each client at its
// step, and makes and deletes checkpoints, until it is killed. Each completed step is marked in the
// shim's journal.

using namespace graphd::store;

int main(int argc, char** argv) {
  if (argc != 3 + static_cast<int>(kCrashClients)) return 2;
  const std::string directory = argv[1];
  Store store(PowerOptions(directory + "/store"));
  OpenCrashTables(store);
  CheckpointSet checkpoints(directory + "/checkpoints");
  std::vector<std::thread> threads;
  for (uint64_t client = 0; client < kCrashClients; client++) {
    threads.emplace_back([&, client] {
      for (uint64_t step = std::strtoull(argv[3 + client], nullptr, 10);; step++) {
        CrashStep(store, client, step);
        PowerMark(client, step);
      }
    });
  }
  const uint64_t first = std::strtoull(argv[2], nullptr, 10);
  for (uint64_t number = first;; number++) {
    {
      const auto making = checkpoints.Begin(CheckpointName(number));
      store.PrepareCheckpoint();
      store.WriteCheckpoint(making->data_directory(), {"rows", "counts"}, *store.HoldPushes());
      making->AddFile("weights", 0, std::as_bytes(std::span(&number, 1)));
      making->Commit("{}");
    }
    PowerMark(kCheckpointMade, number);
    if (number > first) {
      PowerMark(kCheckpointGoes, number - 1);
      checkpoints.Delete(CheckpointName(number - 1));
    }
  }
}
