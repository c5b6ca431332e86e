// SPDX-License-Identifier: Apache-2.0
#include "common/trainer_group.h"

// The header declares nothing without this macro (Debian's libtorch is built with gloo).
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO
#endif
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "graphd/error.h"

namespace examples {
namespace {

using graphd::Error;
using graphd::ErrorCode;

// Timeout of the rendezvous. The end of a trainer after that is noticed through its connection.
constexpr std::chrono::milliseconds kTimeout{300'000};

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    throw Error(ErrorCode::kInvalid, std::string(name) +
                                         " is not set, but WORLD_SIZE is above 1: run this with "
                                         "'graphctl launch', or set it");
  }
  return value;
}

uint16_t MasterPort() {
  const std::string text = Variable("MASTER_PORT");
  char* end = nullptr;
  const long port = std::strtol(text.c_str(), &end, 10);
  if (*end != '\0' || port < 1 || port > 65535) {
    throw Error(ErrorCode::kInvalid, "MASTER_PORT is '" + text + "', not a port (1 to 65535)");
  }
  return static_cast<uint16_t>(port);
}

// Returns this machine's address on the route to `host`. The host name, gloo's default, often
// resolves to 127.0.1.1, which other machines can't reach. Connecting a datagram socket sends
// nothing.
std::string LocalAddressTowards(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0) {
    throw Error(ErrorCode::kNotFound, "MASTER_ADDR '" + host + "': " + gai_strerror(status));
  }
  std::string address;
  for (addrinfo* a = found; a != nullptr && address.empty(); a = a->ai_next) {
    const int fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    sockaddr_storage local{};
    socklen_t length = sizeof(local);
    auto* generic = reinterpret_cast<sockaddr*>(&local);
    char text[NI_MAXHOST];
    if (connect(fd, a->ai_addr, a->ai_addrlen) == 0 && getsockname(fd, generic, &length) == 0 &&
        getnameinfo(generic, length, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) == 0) {
      address = text;
    }
    close(fd);
  }
  freeaddrinfo(found);
  if (address.empty()) {
    throw Error(ErrorCode::kUnavailable, "no route to MASTER_ADDR '" + host + "'");
  }
  return address;
}

}  // namespace

struct TrainerGroup::Network {
  c10::intrusive_ptr<c10d::TCPStore> store;
  c10::intrusive_ptr<c10d::ProcessGroupGloo> group;
};

TrainerGroup TrainerGroup::Join(int rank, int world_size) {
  if (world_size == 1) return TrainerGroup(rank, world_size, nullptr);
  const std::string host = Variable("MASTER_ADDR");
  const uint16_t port = MasterPort();
  auto network = std::make_unique<Network>();
  c10d::TCPStoreOptions store;
  store.port = port;
  store.isServer = rank == 0;
  store.numWorkers = static_cast<size_t>(world_size);
  store.timeout = kTimeout;
  network->store = c10::make_intrusive<c10d::TCPStore>(host, store);

  auto options = c10d::ProcessGroupGloo::Options::create(kTimeout);
  const char* interface = std::getenv("GLOO_SOCKET_IFNAME");
  options->devices.push_back(
      interface != nullptr
          ? c10d::ProcessGroupGloo::createDeviceForInterface(interface)
          : c10d::ProcessGroupGloo::createDeviceForHostname(LocalAddressTowards(host, port)));
  network->group =
      c10::make_intrusive<c10d::ProcessGroupGloo>(network->store, rank, world_size, options);
  return TrainerGroup(rank, world_size, std::move(network));
}

TrainerGroup::TrainerGroup(int rank, int world_size, std::unique_ptr<Network> network)
    : rank_(rank), world_size_(world_size), network_(std::move(network)) {}
TrainerGroup::TrainerGroup(TrainerGroup&&) noexcept = default;
TrainerGroup::~TrainerGroup() = default;

void TrainerGroup::Sum(torch::Tensor tensor) {
  if (network_ == nullptr) return;
  std::vector<at::Tensor> tensors{tensor};
  network_->group->allreduce(tensors)->wait();
}

double TrainerGroup::Max(double value) {
  if (network_ == nullptr) return value;
  std::vector<at::Tensor> tensors{torch::full({1}, value, torch::kFloat64)};
  c10d::AllreduceOptions options;
  options.reduceOp = c10d::ReduceOp::MAX;
  network_->group->allreduce(tensors, options)->wait();
  return tensors[0].item<double>();
}

}  // namespace examples
