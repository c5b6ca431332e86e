// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/console.h"

#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace graphd::ctl {
namespace {

constexpr size_t kChunk = 65536;
constexpr int kRounds = 256;  // each round writes up to PIPE_BUF bytes

bool IsWritable(int fd) {
  pollfd ready{fd, POLLOUT, 0};
  return ::poll(&ready, 1, 0) > 0;
}

}  // namespace

void Console::Add(int fd, std::string_view text) {
  if (text.empty() || broken_[fd - 1]) return;
  if (chunks_.empty() || chunks_.back().fd != fd || chunks_.back().text.size() > kChunk) {
    chunks_.push_back({fd, {}, 0});
  }
  chunks_.back().text += text;
  size_ += text.size();
}

void Console::WriteSome() {
  for (int i = 0; i < kRounds && !chunks_.empty(); i++) {
    if (!WriteFront()) return;
  }
}

void Console::WriteOrDrop() {
  while (!chunks_.empty()) {
    if (!WriteFront()) DropFront();
  }
}

// Writes from the first chunk. Returns false if its reader accepts nothing now. A writable pipe
// accepts PIPE_BUF bytes without blocking; a larger write could block, because the descriptor is
// shared with other processes and can't be made non-blocking.
bool Console::WriteFront() {
  Chunk& chunk = chunks_.front();
  if (!IsWritable(chunk.fd)) return false;
  const size_t size = std::min<size_t>(chunk.text.size() - chunk.done, PIPE_BUF);
  const ssize_t put = ::write(chunk.fd, chunk.text.data() + chunk.done, size);
  if (put >= 0) {
    chunk.done += static_cast<size_t>(put);
    if (chunk.done == chunk.text.size()) DropFront();
    return true;
  }
  if (errno == EINTR) return true;
  if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
  broken_[chunk.fd - 1] = true;
  DropFront();
  return true;
}

void Console::DropFront() {
  size_ -= chunks_.front().text.size();
  chunks_.pop_front();
}

}  // namespace graphd::ctl
