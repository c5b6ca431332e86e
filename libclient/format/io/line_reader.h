// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/strings.h"

// A reader of the lines of a text file, gzip-compressed or plain (detected from the content),
// streamed through one buffer. A byte order mark is skipped. Errors are Error(kCorrupt) "file:line:
// ...". Not thread-safe.

namespace graphd {

class LineReader {
 public:
  static constexpr size_t kMaxLineBytes = size_t{64} << 20;

  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // Moves to the next line. Returns false at the end. Throws Error(kCorrupt) if the compressed
  // stream is damaged or truncated, or if a line is longer than kMaxLineBytes.
  bool Next();
  // Returns the line without its line end; valid until the next call of Next().
  std::string_view text() const noexcept { return text_; }

  const std::string& path() const noexcept { return path_; }
  int64_t line() const noexcept { return line_; }  // counts from 1
  // Return the (compressed) bytes read so far and the size of the file.
  uint64_t bytes_read() const noexcept;
  uint64_t file_bytes() const noexcept { return file_bytes_; }

  template <class... Args>
  [[noreturn]] void Fail(const Args&... args) const {
    Throw(ErrorCode::kCorrupt, path_, ":", line_, ": ", args...);
  }

 private:
  struct Stream;
  bool Fill();
  std::string path_;
  std::unique_ptr<Stream> stream_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;
  bool at_end_ = false;
  std::string_view text_;
  int64_t line_ = 0;
  uint64_t file_bytes_ = 0;
};

// Returns the text without blanks and tabs at its ends.
std::string_view TrimBlanks(std::string_view text) noexcept;

}  // namespace graphd
