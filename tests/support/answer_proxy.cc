// SPDX-License-Identifier: Apache-2.0
#include "tests/support/answer_proxy.h"

#include <arpa/inet.h>
#include <sys/socket.h>

#include <string_view>

namespace graphd::testing {
namespace {

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

UniqueFd NewSocket() { return UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

void Cut(const UniqueFd& fd) { ::shutdown(fd.get(), SHUT_RDWR); }

}  // namespace

AnswerProxy::AnswerProxy(uint16_t port) : daemon_port_(port), listener_(NewSocket()) {
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_.get(), generic, size) != 0 || ::listen(listener_.get(), 16) != 0 ||
      ::getsockname(listener_.get(), generic, &size) != 0) {
    ThrowErrno("can't listen on", "127.0.0.1");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

AnswerProxy::~AnswerProxy() {
  Cut(listener_);
  acceptor_.join();
  std::vector<std::thread> threads;
  {
    const MutexLock lock(mutex_);
    for (const auto& pair : pairs_) {
      Cut(pair->client);
      Cut(pair->daemon);
    }
    threads.swap(threads_);
  }
  for (std::thread& thread : threads) thread.join();
}

void AnswerProxy::ReplaceInAnswers(std::string bytes, std::string others) {
  const MutexLock lock(mutex_);
  in_answers_.emplace_back(std::move(bytes), std::move(others));
}

void AnswerProxy::ReplaceInRequests(std::string bytes, std::string others) {
  const MutexLock lock(mutex_);
  in_requests_.emplace_back(std::move(bytes), std::move(others));
}

void AnswerProxy::CutAtNextAnswer() {
  const MutexLock lock(mutex_);
  cut_ = true;
}

int AnswerProxy::changes() const {
  const MutexLock lock(mutex_);
  return changes_;
}

void AnswerProxy::Accept() {
  for (;;) {
    auto pair = std::make_unique<Pair>();
    pair->client = UniqueFd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!pair->client) return;
    pair->daemon = NewSocket();
    const sockaddr_in address = Loopback(daemon_port_);
    const auto* const generic = reinterpret_cast<const sockaddr*>(&address);
    if (::connect(pair->daemon.get(), generic, sizeof address) != 0) continue;
    const MutexLock lock(mutex_);
    const Pair& both = *pairs_.emplace_back(std::move(pair));
    threads_.emplace_back([this, &both] { Pass(both.client, both.daemon, false); });
    threads_.emplace_back([this, &both] { Pass(both.daemon, both.client, true); });
  }
}

void AnswerProxy::Pass(const UniqueFd& from, const UniqueFd& to, bool is_answer) {
  std::string buffer;
  for (;;) {
    buffer.resize(size_t{1} << 20);
    const ssize_t got = ::recv(from.get(), buffer.data(), buffer.size(), 0);
    if (got <= 0) break;
    buffer.resize(static_cast<size_t>(got));
    if (!Change(is_answer, buffer)) break;
    std::string_view left = buffer;
    while (!left.empty()) {
      const ssize_t sent = ::send(to.get(), left.data(), left.size(), MSG_NOSIGNAL);
      if (sent <= 0) break;
      left.remove_prefix(static_cast<size_t>(sent));
    }
    if (!left.empty()) break;
  }
  Cut(from);
  Cut(to);
}

bool AnswerProxy::Change(bool is_answer, std::string& message) {
  const MutexLock lock(mutex_);
  if (is_answer && cut_) {
    cut_ = false;
    changes_++;
    for (const auto& pair : pairs_) {
      Cut(pair->client);
      Cut(pair->daemon);
    }
    return false;
  }
  for (const auto& [bytes, others] : is_answer ? in_answers_ : in_requests_) {
    for (size_t at = message.find(bytes); at != std::string::npos; at = message.find(bytes, at)) {
      message.replace(at, bytes.size(), others);
      at += others.size();
      changes_++;
    }
  }
  return true;
}

}  // namespace graphd::testing
