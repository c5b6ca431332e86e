// SPDX-License-Identifier: Apache-2.0
#include "format/io/line_reader.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "base/file.h"

namespace graphd {
namespace {

// The buffer of a large file; a small file has a smaller one.
constexpr size_t kBufferBytes = size_t{1} << 20, kMinBufferBytes = size_t{16} << 10;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

struct LineReader::Stream {
  explicit Stream(const std::string& path) : file(gzopen(path.c_str(), "rbe")) {
    if (!file) ThrowErrno("can't open", path);
    gzbuffer(file, 256 << 10);
  }
  ~Stream() { gzclose_r(file); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  gzFile file;
};

LineReader::LineReader(const std::string& path) : path_(path), file_bytes_(FileSize(path)) {
  buffer_.resize(std::clamp<uint64_t>(file_bytes_, kMinBufferBytes, kBufferBytes));
  stream_ = std::make_unique<Stream>(path);
}

LineReader::~LineReader() = default;

uint64_t LineReader::bytes_read() const noexcept {
  return static_cast<uint64_t>(std::max<z_off_t>(0, gzoffset(stream_->file)));
}

// Moves the unread bytes to the front of the buffer and reads more behind them. Returns false at
// the end of the file.
bool LineReader::Fill() {
  if (at_end_) return false;
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    if (buffer_.size() >= kMaxLineBytes) {
      line_++;
      Fail("a line of more than ", HumanBytes(kMaxLineBytes), "; is it a text file?");
    }
    buffer_.resize(buffer_.size() * 2);
  }
  const int got =
      gzread(stream_->file, buffer_.data() + end_, static_cast<unsigned>(buffer_.size() - end_));
  int status = Z_OK;
  const char* reason = gzerror(stream_->file, &status);
  // If the stream is truncated, gzread returns the bytes before the end, and only gzerror reports
  // the truncation.
  if (got < 0 || (got == 0 && status == Z_BUF_ERROR)) {
    line_++;
    Fail(status == Z_BUF_ERROR ? "the compressed data ends too early" : reason,
         "; fetch or write the file again");
  }
  if (got == 0) at_end_ = true;
  end_ += static_cast<size_t>(got);
  return got > 0;
}

bool LineReader::Next() {
  size_t searched = 0;
  for (;;) {
    const char* from = buffer_.data() + begin_ + searched;
    const size_t length = end_ - begin_ - searched;
    const void* newline = length ? std::memchr(from, '\n', length) : nullptr;
    if (!newline) {
      searched = end_ - begin_;
      if (Fill()) continue;
      if (begin_ == end_) return false;
    }
    const size_t size =
        newline ? static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data() - begin_)
                : end_ - begin_;
    text_ = {buffer_.data() + begin_, size};
    begin_ += size + (newline ? 1 : 0);
    if (++line_ == 1 && text_.starts_with(kByteOrderMark)) {
      text_.remove_prefix(kByteOrderMark.size());
    }
    if (text_.ends_with('\r')) text_.remove_suffix(1);
    return true;
  }
}

std::string_view TrimBlanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace graphd
