// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/unit/store/crash_steps.h"

// store_crash_child DIRECTORY MEMORY_BYTES MEMORY_DIR STEP...: opens the store and continues each
// client at its step, reporting each completed step on standard output, until it is killed.

using namespace graphd::store;

int main(int argc, char** argv) {
  if (argc != 4 + static_cast<int>(kCrashClients)) return 2;
  const StoreOptions options = CrashOptions(argv[1], std::strtoull(argv[2], nullptr, 10), argv[3]);
  Store store(options);
  OpenCrashTables(store);
  std::vector<std::thread> clients;
  for (uint64_t client = 0; client < kCrashClients; client++) {
    clients.emplace_back([&, client] {
      for (uint64_t step = std::strtoull(argv[4 + client], nullptr, 10);; step++) {
        CrashStep(store, client, step);
        const Acknowledged done{client, step};
        if (::write(STDOUT_FILENO, &done, sizeof done) != sizeof done) ::_exit(3);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}
