// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

// Splits output into lines, so that each can get a prefix. A line ends at '\n', "\r\n" or a
// lone '\r' (as in progress bars), and is cut at kMaxLine bytes. All other bytes are passed
// unchanged.

namespace graphd::ctl {

class LineSplitter {
 public:
  static constexpr size_t kMaxLine = 65536;
  using Handler = std::function<void(std::string_view line)>;

  explicit LineSplitter(Handler handler) : handler_(std::move(handler)) {}

  void Feed(std::string_view bytes) {
    for (char c : bytes) {
      const bool newline_of_crlf = c == '\n' && after_return_;
      after_return_ = c == '\r';
      if (newline_of_crlf) continue;
      if (c == '\n' || c == '\r') {
        Emit();
      } else {
        line_ += c;
        if (line_.size() == kMaxLine) Emit();
      }
    }
  }

  // Passes the rest on as a line, at the end of the stream.
  void Finish() {
    if (!line_.empty()) Emit();
  }

 private:
  void Emit() {
    handler_(line_);
    line_.clear();
  }

  Handler handler_;
  std::string line_;
  bool after_return_ = false;
};

}  // namespace graphd::ctl
