// SPDX-License-Identifier: Apache-2.0
#include "tests/support/served_graph_fixture.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/file.h"
#include "format/partitioner.h"
#include "tests/support/hub_graph.h"
#include "wire/ip_config.h"

namespace graphd::testing {
namespace {

// Returns the path of a part config of the graph of hubs, for a test alone: it may change the
// files.
std::string CopyOfHubGraph(const std::string& directory, int num_parts) {
  if (num_parts != kPreparedHubGraphParts) return WriteHubGraph(directory, num_parts);
  std::filesystem::copy(GRAPHD_HUB_GRAPH_DIR, directory, std::filesystem::copy_options::recursive);
  return directory + "/hubs.json";
}

}  // namespace

uint16_t FreePort() {
  // A port of the range that the system gives to clients can become a client's at any moment
  // before a server listens there, and while a killed server is started again.
  constexpr uint16_t kFirst = 10000;
  static const auto first_of_clients = [] {
    int first = 0;  // a file of /proc has no size, by which ReadTextFile would read it
    std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first;
    return static_cast<uint16_t>(std::max(20000, first));
  }();
  static std::atomic<uint32_t> next{std::random_device()()};
  for (int tries = 0; tries < 10000; tries++) {
    const auto port = static_cast<uint16_t>(kFirst + next++ % (first_of_clients - kFirst));
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return port;
  }
  throw Error(ErrorCode::kUnavailable, "no port is free on 127.0.0.1");
}

ServedGraphFixture::ServedGraphFixture(const std::vector<std::vector<int>>& parts_of_daemon,
                                       int num_parts, std::vector<std::string> arguments)
    : part_config_(CopyOfHubGraph(scratch_ / "data", num_parts)),
      parts_(parts_of_daemon),
      arguments_(std::move(arguments)) {
  Serve(num_parts);
}

ServedGraphFixture::ServedGraphFixture(const RawGraph& graph,
                                       const std::vector<std::vector<int>>& parts_of_daemon,
                                       int num_parts, std::vector<std::string> arguments,
                                       std::vector<std::string> store_as)
    : parts_(parts_of_daemon), arguments_(std::move(arguments)) {
  PartitionOptions options;
  options.storage.store_as = std::move(store_as);
  options.graph_name = "hubs";
  options.num_parts = num_parts;
  options.method = PartMethod::kRandom;
  options.output = scratch_ / "data";
  part_config_ = PartitionGraph(graph, options).part_config;
  Serve(num_parts);
}

void ServedGraphFixture::Serve(int num_parts) {
  // Clients find sockets through the environment, as with graphctl launch.
  ::setenv("GRAPHD_RUNTIME_DIR", runtime_dir().c_str(), 1);
  std::vector<std::string> lines(static_cast<size_t>(num_parts));
  for (size_t d = 0; d < parts_.size(); d++) {
    ports_.push_back(FreePort());
    for (int part : parts_[d]) {
      lines[static_cast<size_t>(part)] = "127.0.0.1 " + std::to_string(ports_[d]) + "\n";
    }
  }
  ip_config_ = scratch_ / "ip_config.txt";
  std::string text;
  for (const std::string& line : lines) text += line;
  WriteFileAtomically(ip_config_, text);
  for (size_t d = 0; d < parts_.size(); d++) {
    daemons_.push_back(Start(d));
    daemons_[d].WaitReady(socket_path(d));
  }
}

GraphdProcess ServedGraphFixture::Start(size_t daemon) const {
  std::string parts;
  for (int part : parts_[daemon]) parts += (parts.empty() ? "" : ",") + std::to_string(part);
  std::vector<std::string> arguments = {
      "--server_name", "hubs",
      "--part_config", part_config_,
      "--part_id",     parts,
      "--listen",      "127.0.0.1:" + std::to_string(ports_[daemon]),
      "--runtime_dir", runtime_dir(),
      "--state_dir",   scratch_ / "state",
      "--memory_dir",  memory_.path()};
  arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
  return GraphdProcess(arguments, scratch_ / ("log" + std::to_string(daemon)));
}

void ServedGraphFixture::Kill(size_t daemon) {
  daemons_.at(daemon).Signal(SIGKILL);
  daemons_.at(daemon).Wait();
}

void ServedGraphFixture::StartAgain(size_t daemon) { daemons_.at(daemon) = Start(daemon); }

void ServedGraphFixture::Restart(size_t daemon) {
  Kill(daemon);
  StartAgain(daemon);
  daemons_.at(daemon).WaitReady(socket_path(daemon));
}

std::string ServedGraphFixture::socket_path(size_t daemon) const {
  return SocketPath(runtime_dir(), "hubs", ports_.at(daemon));
}

Options ServedGraphFixture::TrainerOptions(Transport transport, int rank, int world_size) const {
  Options options;
  options.server_name = "hubs";
  options.ip_config = ip_config_;
  options.job_id = "test";
  options.rank = rank;
  options.world_size = world_size;
  options.transport = transport;
  options.timeout = std::chrono::seconds(100);  // sanitizers slow everything down
  return options;
}

Options ServedGraphFixture::StandaloneOptions() const {
  Options options;
  options.part_config = part_config_;
  return options;
}

}  // namespace graphd::testing
