// SPDX-License-Identifier: Apache-2.0
#include "tls/tls_session.h"

#include <fuzzer/FuzzedDataProvider.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/fuzz/support/target.h"
#include "tests/unit/tls/test_keys.h"

// Two sessions with good keys, a client's and a server's, talk to each other, before or after their
// handshake, while the input damages, inserts, drops, repeats and reorders what is on its way, as
// somebody on the network can. What a session decrypts must be what the other one has encrypted.

namespace graphd::fuzz {
namespace {

constexpr size_t kMostOnTheWay = size_t{1} << 20;

[[noreturn]] void Fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

const testing::TestKeys& Keys() {
  static const auto& keys = *new testing::TestKeys("fuzzed");
  return keys;
}

// One side, and what it has sent.
struct Side {
  explicit Side(std::shared_ptr<const TlsCredentials> credentials)
      : session(std::move(credentials), "the peer") {}

  TlsSession session;
  bool established = false, failed = false;
  std::string on_the_way;            // encrypted, to the other side
  std::string encrypted, decrypted;  // in plain text

  void Collect() {
    const auto bytes = session.Output();
    on_the_way.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    session.Sent();
  }
  // Calls f; an Error ends the side.
  template <class F>
  void Do(const F& f) {
    if (failed) return;
    try {
      f();
    } catch (const Error& error) {
      CheckError(error);
      failed = true;
    }
    Collect();
  }
  void GoOn() {
    if (!established) established = session.Handshake();
    if (!established) return;
    std::array<std::byte, 3000> plain;
    while (const size_t count = session.Decrypt(plain)) {
      decrypted.append(reinterpret_cast<const char*>(plain.data()), count);
    }
  }
  // Receives a prefix of what the other side has sent, and nothing after the end of its stream.
  void Receive(Side& other, size_t bytes) {
    bytes = std::min(bytes, other.on_the_way.size());
    Do([&] {
      while (bytes > 0 && !session.is_closed()) {
        const auto room = session.InputRoom();
        const size_t count = std::min(room.size(), bytes);
        if (count == 0) Fail("a session has no room for input");
        std::memcpy(room.data(), other.on_the_way.data(), count);
        other.on_the_way.erase(0, count);
        bytes -= count;
        session.Received(count);
        GoOn();
      }
    });
    if (other.encrypted.compare(0, decrypted.size(), decrypted) != 0) {
      Fail("a session has decrypted what the other side did not encrypt");
    }
  }
  void Encrypt(std::string_view plain) {
    Do([&] {
      if (!established) return;
      while (!plain.empty()) {
        const size_t count = session.Encrypt(std::as_bytes(std::span(plain)));
        encrypted += plain.substr(0, count);
        plain.remove_prefix(count);
        if (count == 0) Collect();
      }
    });
  }
};

// Changes what is on its way.
void Attack(std::string& bytes, FuzzedDataProvider& data) {
  const size_t at = std::min<size_t>(data.ConsumeIntegral<uint16_t>(), bytes.size());
  const size_t count = std::min<size_t>(data.ConsumeIntegral<uint8_t>(), bytes.size() - at);
  switch (data.ConsumeIntegral<uint8_t>() % 5) {
    case 0:
      if (at < bytes.size()) bytes[at] = static_cast<char>(bytes[at] ^ (1 + count % 255));
      break;
    case 1:
      bytes.insert(at, data.ConsumeRandomLengthString());
      break;
    case 2:
      bytes.erase(at, count);
      break;
    case 3:
      bytes.insert(at, bytes.substr(at, count));
      break;
    default:
      std::rotate(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end());
  }
}

}  // namespace

void ReadInput(std::string_view input) {
  FuzzedDataProvider data(reinterpret_cast<const uint8_t*>(input.data()), input.size());
  static const auto server_keys = Keys().Server(), client_keys = Keys().Client();
  Side server(server_keys), client(client_keys);
  client.Do([&] { client.GoOn(); });
  if (data.ConsumeBool()) {
    while (!server.established || !client.established) {
      server.Receive(client, SIZE_MAX);
      client.Receive(server, SIZE_MAX);
    }
  }
  while (data.remaining_bytes() > 0 && (!server.failed || !client.failed)) {
    const auto what = data.ConsumeIntegral<uint8_t>();
    Side& one = what % 2 == 0 ? server : client;
    Side& other = what % 2 == 0 ? client : server;
    if (one.on_the_way.size() + other.on_the_way.size() > kMostOnTheWay) return;
    switch (what / 2 % 8) {
      case 0:
      case 1:
        one.Receive(other, SIZE_MAX);
        break;
      case 2:
        one.Receive(other, data.ConsumeIntegral<uint16_t>());
        break;
      case 3:
        one.Encrypt(std::string(data.ConsumeIntegral<uint16_t>(), 'x'));
        break;
      case 4:
        one.Do([&] { one.session.Close(); });
        break;
      default:
        Attack(one.on_the_way, data);
    }
  }
}

std::vector<std::string> Seeds() {
  // FuzzedDataProvider takes numbers from the end of an input.
  const auto input = [](bool handshake, std::string operations) {
    std::reverse(operations.begin(), operations.end());
    return operations + (handshake ? '\1' : '\0');
  };
  std::vector<std::string> seeds{""};
  for (const bool handshake : {false, true}) {
    // Whole messages; pieces; data in both directions, and the end; and one attack of each kind.
    seeds.push_back(input(handshake, std::string("\0\1\0\1\0\1", 6)));
    seeds.push_back(input(handshake, std::string("\4\x80\0\5\x40\1\0\1\0\1", 10)));
    seeds.push_back(input(handshake, std::string("\0\1\0\6\x10\x27\1\7\5\0\0\x8\1\x9\0", 15)));
    for (char kind = 0; kind < 5; kind++) {
      std::string operations("\0\1\7\x20\0\xb\x10\0\5", 9);
      operations += kind;
      operations += std::string("\0\1\0", 3);
      seeds.push_back(input(handshake, operations));
    }
  }
  return seeds;
}

}  // namespace graphd::fuzz
