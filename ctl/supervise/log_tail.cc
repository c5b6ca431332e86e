// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/log_tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/directory.h"

namespace graphd::ctl {
namespace {

constexpr size_t kPiece = size_t{256} << 10;
// A longer line is cut, because a frame has a maximum size. TrainerLogs writes no such lines.
constexpr size_t kMaxPending = size_t{512} << 10;

// Counts lines from the end of a file. Returns where the last `lines` lines begin, or 0 if there
// are fewer, and lowers `lines` by the number of lines that were found.
uint64_t BeginOfLast(const std::string& path, int64_t& lines) {
  if (!FileExists(path)) return 0;
  const UniqueFd fd = OpenFile(path, O_RDONLY);
  uint64_t end = FileSize(path);
  bool is_last_byte = true;
  std::string piece;
  while (end > 0) {
    const uint64_t begin = end - std::min<uint64_t>(end, kPiece);
    piece.resize(end - begin);
    ReadExactly(fd.get(), begin, std::as_writable_bytes(std::span(piece)), path);
    for (size_t i = piece.size(); i-- > 0;) {
      // The newline at the end of the file belongs to the line before it.
      if (piece[i] == '\n' && !is_last_byte && --lines == 0) return begin + i + 1;
      is_last_byte = false;
    }
    end = begin;
  }
  lines--;
  return 0;
}

}  // namespace

LogTail::LogTail(std::string path, int64_t lines) : path_(std::move(path)) {
  if (lines == 0) {
    if (FileExists(path_)) Open(path_, FileSize(path_));
    return;
  }
  if (lines < 0) {
    if (!Open(path_ + ".1", 0)) Open(path_, 0);
    return;
  }
  int64_t left = lines;
  const uint64_t begin = BeginOfLast(path_, left);
  if (left > 0 && FileExists(path_ + ".1")) {
    Open(path_ + ".1", BeginOfLast(path_ + ".1", left));
  } else {
    Open(path_, begin);
  }
}

bool LogTail::Open(const std::string& path, uint64_t begin) {
  if (!FileExists(path)) return false;
  fd_ = OpenFile(path, O_RDONLY | O_NOFOLLOW);
  position_ = begin;
  return true;
}

// Returns whether the open file was renamed, so that the trainer's output now goes into another
// file.
bool LogTail::WasRenamed() const {
  struct stat mine {
  }, newest{};
  if (::fstat(fd_.get(), &mine) != 0 || ::stat(path_.c_str(), &newest) != 0) return false;
  return mine.st_ino != newest.st_ino || mine.st_dev != newest.st_dev;
}

size_t LogTail::ReadSome() {
  const size_t before = pending_.size();
  pending_.resize(before + kPiece);
  ssize_t got;
  do {
    got = ::pread(fd_.get(), pending_.data() + before, kPiece, static_cast<off_t>(position_));
  } while (got < 0 && errno == EINTR);
  const size_t count = got > 0 ? static_cast<size_t>(got) : 0;
  pending_.resize(before + count);
  position_ += count;
  return count;
}

std::string LogTail::Next(bool to_the_end) {
  if (!fd_ && !Open(path_, 0)) return {};
  bool is_at_end = false;
  while (!is_at_end && pending_.find('\n') == std::string::npos && pending_.size() < kMaxPending) {
    // Nothing is written to a renamed file any more. The rest of it is read before the new file.
    const bool was_renamed = WasRenamed();
    if (ReadSome() > 0) continue;
    if (was_renamed) fd_.reset();
    is_at_end = !was_renamed || !Open(path_, 0);
  }
  const bool is_cut = pending_.size() >= kMaxPending;
  if (((to_the_end && is_at_end) || is_cut) && !pending_.empty() && pending_.back() != '\n' &&
      pending_.find('\n') == std::string::npos) {
    pending_ += '\n';
  }
  const size_t end = pending_.rfind('\n');
  if (end == std::string::npos) return {};
  std::string lines = pending_.substr(0, end + 1);
  pending_.erase(0, end + 1);
  return lines;
}

}  // namespace graphd::ctl
