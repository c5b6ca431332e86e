// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/unit/store/crash_steps.h"

// store_crash_child DIRECTORY MEMORY_BYTES MEMORY_DIR STEPS STEP...: opens the store and continues
// each client at its step, reporting each completed step on standard output, until it is killed. If
// STEPS is not 0, each client makes so many, and the store is closed for a process that follows.

using namespace graphd::store;

int main(int argc, char** argv) {
  if (argc != 5 + static_cast<int>(kCrashClients)) return 2;
  StoreOptions options = CrashOptions(argv[1], std::strtoull(argv[2], nullptr, 10), argv[3]);
  options.next_process_follows = [] { return true; };
  const uint64_t steps = std::strtoull(argv[4], nullptr, 10);
  Store store(options);
  OpenCrashTables(store);
  std::vector<std::thread> clients;
  for (uint64_t client = 0; client < kCrashClients; client++) {
    clients.emplace_back([&, client] {
      const uint64_t first = std::strtoull(argv[5 + client], nullptr, 10);
      for (uint64_t step = first; steps == 0 || step < first + steps; step++) {
        CrashStep(store, client, step);
        const Acknowledged done{client, step};
        if (::write(STDOUT_FILENO, &done, sizeof done) != sizeof done) ::_exit(3);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}
