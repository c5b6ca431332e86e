// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "graphd/dist_graph.h"

int main() try {
  const auto session = graphd::Initialize();  // reads the environment
  const graphd::DistGraph graph(session);
  std::cout << "trainer " << session->rank() << " of "
            << session->world_size() << ": graph '" << graph.name()
            << "', " << graph.num_nodes() << " nodes in "
            << graph.partition_book().num_partitions() << " partitions\n";
  graph.Barrier();
} catch (const graphd::Error& error) {
  std::cerr << error.what() << '\n';
  return graphd::ExitCode(error.code());
}
