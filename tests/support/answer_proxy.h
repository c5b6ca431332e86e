// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/threads/mutex.h"

namespace graphd::testing {

// A TCP port on loopback that passes on everything between clients and a daemon. It can alter the
// daemon's answers, as a false daemon would, and cut its connections. Its methods may be called
// while clients use it.
class AnswerProxy {
 public:
  // `port`: the daemon's on loopback.
  explicit AnswerProxy(uint16_t port);
  ~AnswerProxy();
  AnswerProxy(const AnswerProxy&) = delete;
  AnswerProxy& operator=(const AnswerProxy&) = delete;

  uint16_t port() const noexcept { return port_; }
  // Replace `bytes` by `others`, which are as many, in all later answers of the daemon, or in what
  // it is asked, so that it answers another question. A message must not be so long that its bytes
  // arrive in several pieces.
  void ReplaceInAnswers(std::string bytes, std::string others);
  void ReplaceInRequests(std::string bytes, std::string others);
  // Cuts all connections instead of passing on the next answer.
  void CutAtNextAnswer();
  // Returns how often bytes were replaced or connections cut.
  int changes() const;

 private:
  struct Pair {
    UniqueFd client, daemon;
  };
  using Replacements = std::vector<std::pair<std::string, std::string>>;
  void Accept();
  void Pass(const UniqueFd& from, const UniqueFd& to, bool is_answer);
  // Returns whether to pass on the message, which may have changed.
  bool Change(bool is_answer, std::string& message);

  const uint16_t daemon_port_;
  UniqueFd listener_;
  uint16_t port_ = 0;
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Pair>> pairs_ GRAPHD_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ GRAPHD_GUARDED_BY(mutex_);
  Replacements in_answers_ GRAPHD_GUARDED_BY(mutex_), in_requests_ GRAPHD_GUARDED_BY(mutex_);
  bool cut_ GRAPHD_GUARDED_BY(mutex_) = false;
  int changes_ GRAPHD_GUARDED_BY(mutex_) = 0;
  std::thread acceptor_;
};

}  // namespace graphd::testing
