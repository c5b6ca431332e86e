// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "graphd/initialize.h"
#include "tests/support/graphd_process.h"
#include "tests/support/hub_graph.h"
#include "tests/unit/format/raw_graph_samples.h"

namespace graphd::testing {

// The graph of hubs in two partitions (hub_graph.h), and daemons that serve it on this machine.
class ServedGraphFixture {
 public:
  static constexpr int64_t kNodes = kHubGraphNodes;
  static constexpr uint64_t kHubDegree = testing::kHubDegree;

  // `parts_of_daemon`: {{0}, {1}} starts two daemons, {{0, 1}} one, {} none, which writes only the
  // files. All daemons get `arguments`.
  explicit ServedGraphFixture(const std::vector<std::vector<int>>& parts_of_daemon,
                              int num_parts = 2, std::vector<std::string> arguments = {});
  // Serves another graph under the same name, "hubs"; `store_as` as in StorageOptions.
  ServedGraphFixture(const RawGraph& graph, const std::vector<std::vector<int>>& parts_of_daemon,
                     int num_parts = 2, std::vector<std::string> arguments = {},
                     std::vector<std::string> store_as = {});

  const std::string& part_config() const noexcept { return part_config_; }
  const std::string& ip_config() const noexcept { return ip_config_; }
  std::string runtime_dir() const { return scratch_ / "run"; }
  std::string socket_path(size_t daemon) const;
  uint16_t port(size_t daemon) const { return ports_.at(daemon); }
  GraphdProcess& daemon(size_t i) { return daemons_.at(i); }
  // Kills a daemon with SIGKILL.
  void Kill(size_t daemon);
  // Starts a killed daemon with the same arguments; does not wait until it is ready.
  void StartAgain(size_t daemon);
  // Kills a daemon, starts it again and waits until it is ready.
  void Restart(size_t daemon);

  // Returns the options that a trainer would use.
  Options TrainerOptions(Transport transport, int rank = 0, int world_size = 1) const;
  Options StandaloneOptions() const;

 private:
  void Serve(int num_parts);
  GraphdProcess Start(size_t daemon) const;
  ScratchDirectory scratch_;
  MemoryDirectory memory_;
  std::string part_config_, ip_config_;
  std::vector<std::vector<int>> parts_;
  std::vector<std::string> arguments_;
  std::vector<uint16_t> ports_;
  std::vector<GraphdProcess> daemons_;
};

// Returns a TCP port on loopback on which no process listens, and which no client can get.
// Any thread may call it.
uint16_t FreePort();

}  // namespace graphd::testing
