// SPDX-License-Identifier: Apache-2.0
// Clients of the chaos test that a daemon must survive.
//
//   chaos_clients KIND HOST:PORT|SOCKET COUNT SECONDS SEED
//
// COUNT connections at a time do the same until the seconds are over; each that ends is replaced.
// garbage: random bytes. half: the beginning of a message, then silence. unread: calls whose
// answers are never read. short: attaches and calls, and dies at any point. idle: nothing at all.
// greedy: attached, as many large reads as the daemon takes. Prints how many connections were made.
#include <capnp/message.h>
#include <capnp/rpc.capnp.h>
#include <capnp/serialize.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/strings.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"

namespace graphd {
namespace {

constexpr size_t kThreads = 4;

// A client's stream of messages: question 0 is the bootstrap interface, 1 is attach.
class Script {
 public:
  Script() {
    Add([](capnp::rpc::Message::Builder message) { message.initBootstrap().setQuestionId(0); });
  }
  void Attach(const std::string& job) {
    Call<wire::Daemon::AttachParams>(capnp::typeId<wire::Daemon>(), 0, 0, -1,
                                     [&](wire::Daemon::AttachParams::Builder params) {
                                       WriteHello(params.initHello());
                                       auto member = params.initMember();
                                       member.setJobId(job);
                                       member.setWorldSize(1);
                                     });
  }
  void Status() {
    Call<wire::Daemon::StatusParams>(capnp::typeId<wire::Daemon>(), 1, 0, -1,
                                     [](auto params) { WriteHello(params.initHello()); });
  }
  void Slice(int64_t rows) {
    Call<wire::Session::SliceParams>(capnp::typeId<wire::Session>(), 2, 1, 3,
                                     [&](wire::Session::SliceParams::Builder params) {
                                       params.setName("orig_id");
                                       params.setCount(rows);
                                     });
  }
  const std::string& bytes() const noexcept { return bytes_; }

 private:
  template <class Fill>
  void Add(Fill&& fill) {
    capnp::MallocMessageBuilder message;
    fill(message.initRoot<capnp::rpc::Message>());
    const auto words = capnp::messageToFlatArray(message);
    const auto bytes = words.asBytes();
    bytes_.append(reinterpret_cast<const char*>(bytes.begin()), bytes.size());
  }
  template <class Params, class Fill>
  void Call(uint64_t interface, uint16_t method, uint32_t target, int field, Fill&& fill) {
    Add([&](capnp::rpc::Message::Builder message) {
      auto call = message.initCall();
      call.setQuestionId(next_++);
      auto answer = call.initTarget().initPromisedAnswer();
      answer.setQuestionId(target);
      if (field >= 0) answer.initTransform(1)[0].setGetPointerField(static_cast<uint16_t>(field));
      call.setInterfaceId(interface);
      call.setMethodId(method);
      fill(call.initParams().getContent().initAs<Params>());
    });
  }
  uint32_t next_ = 1;
  std::string bytes_;
};

std::string RandomBytes(CounterRng& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& each : bytes) each = static_cast<char>(random.Below(256));
  return bytes;
}

// Returns what a connection sends.
std::string Bytes(const std::string& kind, CounterRng& random, const std::string& job) {
  if (kind == "idle") return {};
  if (kind == "garbage") return RandomBytes(random, 1 + random.Below(4096));
  Script script;
  if (kind == "unread") {
    for (int i = 0; i < 500; i++) script.Status();
    return script.bytes();
  }
  script.Attach(job);
  if (kind == "greedy") {
    for (int i = 0; i < 200; i++) script.Slice(20);
    return script.bytes();
  }
  script.Status();
  for (int i = 0; i < 5; i++) script.Slice(10);
  if (random.Below(4) == 0 && kind != "half") return script.bytes();
  return script.bytes().substr(0, 1 + random.Below(script.bytes().size()));
}

UniqueFd Connect(const std::string& address) {
  if (address.starts_with('/')) return ConnectUnix(address, 2000);
  const size_t colon = address.rfind(':');
  const int64_t port = ParseInt(address.substr(colon + 1), "port");
  return ConnectTcp(address.substr(0, colon), static_cast<uint16_t>(port), 2000, nullptr).fd;
}

// One of the connections that a thread keeps open.
struct Client {
  UniqueFd fd;
  std::string left;  // bytes to be sent
  Clock::time_point end;
};

// Keeps `count` clients busy until the time is over; returns how many there were.
int64_t KeepBusy(const std::string& kind, const std::string& address, size_t count, double seconds,
                 uint64_t seed) {
  CounterRng random(seed);
  const bool reads = kind == "short" || kind == "garbage" || kind == "greedy";
  const bool stays = kind == "half" || kind == "unread" || kind == "idle" || kind == "greedy";
  std::vector<Client> clients(count);
  int64_t made = 0;
  std::vector<char> answers(1 << 16);
  for (const auto start = Clock::now(); SecondsSince(start) < seconds;) {
    for (Client& client : clients) {
      const auto now = Clock::now();
      if (client.fd && now > client.end) {
        // Half of them end like a killed process, whose unread data makes the kernel send a reset.
        const linger reset{1, 0};
        if (random.Below(2) == 0) {
          ::setsockopt(client.fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
        client.fd.reset();
      }
      if (!client.fd) {
        try {
          client.fd = Connect(address);
          made++;
        } catch (const Error&) {  // the daemon is away, or refuses more connections
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          continue;
        }
        client.left = Bytes(kind, random, StrCat(kind, "-", seed, "-", made));
        client.end = now + std::chrono::milliseconds(stays ? 60'000 : random.Below(1500));
      }
      if (!client.left.empty()) {
        const ssize_t sent = ::write(client.fd.get(), client.left.data(), client.left.size());
        if (sent > 0) client.left.erase(0, static_cast<size_t>(sent));
        if (sent < 0 && errno != EAGAIN) client.fd.reset();
      }
      if (reads && client.fd) {
        const ssize_t got = ::read(client.fd.get(), answers.data(), answers.size());
        if (got == 0 || (got < 0 && errno != EAGAIN)) client.fd.reset();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return made;
}

}  // namespace
}  // namespace graphd

int main(int argc, char** argv) {
  using namespace graphd;
  if (argc != 6) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const std::string kind = argv[1], address = argv[2];
  const auto count = static_cast<size_t>(std::atoi(argv[3]));
  const double seconds = std::atof(argv[4]);
  const auto seed = static_cast<uint64_t>(std::atoll(argv[5]));
  std::atomic<int64_t> made = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      const size_t own = count * (t + 1) / kThreads - count * t / kThreads;
      made += KeepBusy(kind, address, own, seconds, seed * kThreads + t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%lld connections\n", static_cast<long long>(made.load()));
  return 0;
}
