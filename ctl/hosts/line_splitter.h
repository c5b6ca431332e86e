// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>
#include <string_view>

// Cuts a stream of output into lines for their prefixes. A line ends at '\n', "\r\n", or at a lone
// '\r' (as progress bars write), and is cut where it reaches kMaxLine. Bytes pass unchanged.

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

  // The stream has ended: what remains is a line.
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
