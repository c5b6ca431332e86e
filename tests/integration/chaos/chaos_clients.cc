// SPDX-License-Identifier: Apache-2.0
// Clients of the chaos test that a daemon must survive.
//
//   chaos_clients KIND HOST:PORT|SOCKET COUNT SECONDS SEED [PART [KEYS SERVER_NAME]]
//
// COUNT connections at a time do the same until the seconds are over; each that ends is replaced.
// Calls are about partition PART (0). With KEYS, a directory of keys, connections are encrypted,
// except for garbage and every other one that is idle or sends half a message. garbage: random
// bytes. half: the beginning of a message, then silence. unread: calls whose answers are never
// read. short: attaches and calls, and dies at any point. idle: nothing at all. greedy: attached,
// as many reads of many rows as the daemon takes. calls: not attached, as many calls of status as
// the daemon takes. Prints how many connections were made.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/strings.h"
#include "tests/support/call_script.h"
#include "wire/connection.h"

namespace graphd {
namespace {

constexpr size_t kThreads = 4;

std::string RandomBytes(CounterRng& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& each : bytes) each = static_cast<char>(random.Below(256));
  return bytes;
}

constexpr int64_t kGreedyRows = 1000;
constexpr uint32_t kGreedyCalls = 32;  // calls under way at a time
constexpr int kCallsAtOnce = 50;

// The daemon that the clients connect to, and the keys that they show.
struct Target {
  std::string address;
  int part = 0;
  std::unique_ptr<TlsKeys> keys;
};

// A connection that a thread keeps open, with what it is still to send.
struct Client {
  ClientSocket socket;
  testing::CallScript script;
  std::string left;  // bytes to be sent
  Clock::time_point end;
};

// Reads rows of a feature.
void Slice(testing::CallScript& script, int part, int64_t rows) {
  script.CallSession<wire::Session::SliceParams>(2,
                                                 [&](wire::Session::SliceParams::Builder params) {
                                                   params.setPart(part);
                                                   params.setName("orig_id");
                                                   params.setCount(rows);
                                                 });
}

// Adds bytes to those that are to be sent.
void Send(Client& client, const std::string& bytes) {
  if (!client.socket.tls) {
    client.left += bytes;
    return;
  }
  for (auto plain = std::as_bytes(std::span(bytes)); !plain.empty();) {
    plain = plain.subspan(client.socket.tls->Encrypt(plain));
    const auto encrypted = client.socket.tls->Output();
    client.left.append(reinterpret_cast<const char*>(encrypted.data()), encrypted.size());
    client.socket.tls->Sent();
  }
}

// Sends what a new connection begins with.
void Begin(const std::string& kind, int part, CounterRng& random, const std::string& job,
           Client& client) {
  if (kind == "idle" || kind == "calls") return;
  if (kind == "garbage") return Send(client, RandomBytes(random, 1 + random.Below(4096)));
  testing::CallScript& script = client.script;
  if (kind == "unread") {
    for (int i = 0; i < 500; i++) script.Status();
    return Send(client, script.TakeBytes());
  }
  script.Attach(job);
  if (kind == "greedy") {
    for (uint32_t i = 0; i < kGreedyCalls; i++) Slice(script, part, kGreedyRows);
    return Send(client, script.TakeBytes());
  }
  script.Status();
  for (int i = 0; i < 5; i++) Slice(script, part, 10);
  std::string bytes = script.TakeBytes();
  if (random.Below(4) != 0 || kind == "half") bytes.resize(1 + random.Below(bytes.size()));
  Send(client, bytes);
}

ClientSocket Connect(const Target& target, bool is_encrypted) {
  if (target.address.starts_with('/')) return {ConnectUnix(target.address, 2000), true};
  const size_t colon = target.address.rfind(':');
  const int64_t port = ParseInt(target.address.substr(colon + 1), "port");
  return ConnectTcp(target.address.substr(0, colon), static_cast<uint16_t>(port), 2000,
                    is_encrypted ? target.keys.get() : nullptr);
}

// Keeps `count` clients busy until the time is over; returns how many there were.
int64_t KeepBusy(const std::string& kind, const Target& target, size_t count, double seconds,
                 uint64_t seed) {
  CounterRng random(seed);
  const bool has_much_to_ask = kind == "greedy" || kind == "calls";
  const bool reads = kind == "short" || kind == "garbage" || has_much_to_ask;
  const bool stays = kind == "half" || kind == "unread" || kind == "idle" || has_much_to_ask;
  std::vector<Client> clients(count);
  int64_t made = 0;
  std::vector<char> answers(1 << 16);
  for (const auto start = Clock::now(); SecondsSince(start) < seconds;) {
    for (Client& client : clients) {
      const auto now = Clock::now();
      UniqueFd& fd = client.socket.fd;
      if (fd && now > client.end) {
        // Half of them end like a killed process, whose unread data makes the kernel send a reset.
        const linger reset{1, 0};
        if (random.Below(2) == 0) {
          ::setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
        }
        fd.reset();
      }
      if (!fd) {
        client = {};
        try {
          const bool may_be_plain = kind == "idle" || kind == "half";
          client.socket =
              Connect(target, kind != "garbage" && !(may_be_plain && random.Below(2) == 0));
          made++;
        } catch (const Error&) {  // the daemon is away, or refuses more connections
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
          continue;
        }
        Begin(kind, target.part, random, StrCat(kind, "-", seed, "-", made), client);
        client.end = now + std::chrono::milliseconds(stays ? 60'000 : random.Below(1500));
      }
      if (kind == "greedy" && client.left.empty()) {
        Slice(client.script, target.part, kGreedyRows);
        client.script.Finish(client.script.last_question() - kGreedyCalls);
        Send(client, client.script.TakeBytes());
      }
      if (kind == "calls" && client.left.empty()) {
        for (int i = 0; i < kCallsAtOnce; i++) {
          client.script.Status();
          client.script.Finish(client.script.last_question());
        }
        Send(client, client.script.TakeBytes());
      }
      if (!client.left.empty()) {
        const ssize_t sent = ::write(fd.get(), client.left.data(), client.left.size());
        if (sent > 0) client.left.erase(0, static_cast<size_t>(sent));
        if (sent < 0 && errno != EAGAIN) fd.reset();
      }
      if (reads && fd) {
        const ssize_t got = ::read(fd.get(), answers.data(), answers.size());
        if (got == 0 || (got < 0 && errno != EAGAIN)) fd.reset();
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
  if (argc != 6 && argc != 7 && argc != 9) return 2;
  ::signal(SIGPIPE, SIG_IGN);
  const std::string kind = argv[1];
  Target target{argv[2], argc > 6 ? std::atoi(argv[6]) : 0, {}};
  if (argc == 9) {
    target.keys =
        std::make_unique<TlsKeys>(KeyDirectory(argv[7], argv[8]), argv[8], TlsSide::kClient);
  }
  const auto count = static_cast<size_t>(std::atoi(argv[3]));
  const double seconds = std::atof(argv[4]);
  const auto seed = static_cast<uint64_t>(std::atoll(argv[5]));
  std::atomic<int64_t> made = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      const size_t own = count * (t + 1) / kThreads - count * t / kThreads;
      made += KeepBusy(kind, target, own, seconds, seed * kThreads + t);
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%lld connections\n", static_cast<long long>(made.load()));
  return 0;
}
