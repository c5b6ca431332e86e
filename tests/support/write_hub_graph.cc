// SPDX-License-Identifier: Apache-2.0
// Writes the graph of hubs for ServedGraphFixture.
#include <exception>
#include <iostream>

#include "tests/support/hub_graph.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: write_hub_graph DIRECTORY\n";
    return 2;
  }
  try {
    graphd::testing::WriteHubGraph(argv[1], graphd::testing::kPreparedHubGraphParts);
  } catch (const std::exception& error) {
    std::cerr << "write_hub_graph: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
