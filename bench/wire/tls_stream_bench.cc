// SPDX-License-Identifier: Apache-2.0
// Measures one loopback TCP connection between two threads: plaintext, graphd's TlsStream, and
// kj::TlsContext of libkj-tls, which TlsStream must outperform to be worth having.
#include <benchmark/benchmark.h>
#include <kj/async-io.h>
#include <kj/compat/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>
#include <vector>

#include "base/file.h"
#include "tls/issue.h"
#include "tls/tls_connect.h"
#include "tls/tls_keys.h"
#include "tls/tls_stream.h"

namespace graphd::bench {
namespace {

constexpr const char* kName = "bench";
constexpr size_t kMessage = size_t{4} << 20;  // a large answer's order of magnitude

enum class Kind { kPlain, kTlsStream, kKjTls };

std::pair<UniqueFd, UniqueFd> LoopbackPair() {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &length) != 0) {
    ThrowErrno("can't listen on", "127.0.0.1");
  }
  UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::connect(client.get(), generic, length) != 0) ThrowErrno("can't connect to", "127.0.0.1");
  UniqueFd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  const int one = 1;
  for (const int fd : {client.get(), server.get()}) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  return {std::move(client), std::move(server)};
}

// Keys of one server and one client, in memory and in a temporary directory.
struct Keys {
  Keys()
      : directory(std::filesystem::temp_directory_path() /
                  ("graphd_tls_bench." + std::to_string(::getpid()))),
        authority(MakeAuthority(kName)),
        server(Issue(authority, CertificateKind::kServer, kName)),
        client(Issue(authority, CertificateKind::kClient, "trainer")),
        files(directory, kName) {
    files.Write("ca.pem", authority.certificate.ToPem());
    files.Write("server.pem", server.certificate.ToPem());
    files.Write("server.key", server.key.ToPem());
    files.Write("client.pem", client.certificate.ToPem());
    files.Write("client.key", client.key.ToPem());
  }
  ~Keys() { std::filesystem::remove_all(directory); }
  std::string directory;
  KeyPair authority, server, client;
  KeyDirectory files;
};

const Keys& SharedKeys() {
  static const Keys keys;
  return keys;
}

kj::TlsContext KjContext(const KeyPair& own, bool is_server) {
  const kj::TlsCertificate authority(
      kj::heapString(SharedKeys().authority.certificate.ToPem().c_str()));
  const kj::TlsKeypair pair{kj::TlsPrivateKey(kj::heapString(own.key.ToPem().c_str())),
                            kj::TlsCertificate(kj::heapString(own.certificate.ToPem().c_str()))};
  kj::TlsContext::Options options;
  options.useSystemTrustStore = false;
  options.verifyClients = is_server;
  options.trustedCertificates = kj::arrayPtr(&authority, 1);
  options.defaultKeypair = pair;
  // kj-tls does not choose the cipher of TLS 1.3; OpenSSL's default is AES with 256-bit keys.
  return kj::TlsContext(kj::mv(options));
}

kj::Own<kj::AsyncIoStream> Wrap(kj::AsyncIoContext& io, UniqueFd fd) {
  return io.lowLevelProvider->wrapSocketFd(fd.release(),
                                           kj::LowLevelAsyncIoProvider::TAKE_OWNERSHIP);
}

kj::Own<kj::AsyncIoStream> OpenServer(kj::AsyncIoContext& io, Kind kind, UniqueFd fd) {
  auto socket = Wrap(io, std::move(fd));
  if (kind == Kind::kPlain) return socket;
  if (kind == Kind::kKjTls) {
    auto context = KjContext(SharedKeys().server, true);
    return context.wrapServer(kj::mv(socket)).wait(io.waitScope);
  }
  const TlsKeys keys(SharedKeys().files, kName, TlsSide::kServer);
  return AcceptTls(kj::mv(socket), keys.Current(), "the client", io.provider->getTimer(),
                   {[](kj::AsyncIoStream&, const Error&) { return kj::READY_NOW; }})
      .wait(io.waitScope);
}

kj::Own<kj::AsyncIoStream> OpenClient(kj::AsyncIoContext& io, Kind kind, UniqueFd fd) {
  if (kind == Kind::kKjTls) {
    auto context = KjContext(SharedKeys().client, false);
    return context.wrapClient(Wrap(io, std::move(fd)), kName).wait(io.waitScope);
  }
  if (kind == Kind::kPlain) return Wrap(io, std::move(fd));
  const TlsKeys keys(SharedKeys().files, kName, TlsSide::kClient);
  auto session = ConnectTls(fd.get(), keys.Current(), "the server", std::chrono::seconds(10));
  return kj::heap<TlsStream>(Wrap(io, std::move(fd)), std::move(session));
}

// Receives messages that another thread sends as fast as it can. An iteration is one message.
void BM_Stream(benchmark::State& state) {
  const auto kind = static_cast<Kind>(state.range(0));
  SharedKeys();
  auto [client_fd, server_fd] = LoopbackPair();
  std::thread sender([kind, fd = std::move(server_fd)]() mutable {
    auto io = kj::setupAsyncIo();
    auto stream = OpenServer(io, kind, std::move(fd));
    const std::vector<std::byte> message(kMessage, std::byte{1});
    try {
      for (;;) stream->write(message.data(), message.size()).wait(io.waitScope);
    } catch (const kj::Exception&) {  // the receiver has enough
    }
  });
  {
    auto io = kj::setupAsyncIo();
    auto stream = OpenClient(io, kind, std::move(client_fd));
    std::vector<std::byte> message(kMessage);
    for (auto _ : state) stream->read(message.data(), message.size()).wait(io.waitScope);
  }
  sender.join();
  state.counters["bytes/s"] =
      benchmark::Counter(static_cast<double>(state.iterations()) * kMessage,
                         benchmark::Counter::kIsRate, benchmark::Counter::OneK::kIs1000);
  state.SetLabel(kind == Kind::kPlain ? "plaintext"
                                      : (kind == Kind::kKjTls ? "kj-tls" : "TlsStream"));
}
BENCHMARK(BM_Stream)->ArgName("kind")->DenseRange(0, 2)->UseRealTime()->Unit(
    benchmark::kMillisecond);

}  // namespace
}  // namespace graphd::bench

BENCHMARK_MAIN();
