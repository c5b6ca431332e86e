// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <termios.h>

namespace graphd::ctl {

// Reads single keys from standard input, if that is a terminal: keys need no Enter and are not
// shown. The destructor restores the terminal's settings. One thread at a time.
class KeyReader {
 public:
  // If `wanted` is false, the terminal is not changed and no key is read.
  explicit KeyReader(bool wanted);
  ~KeyReader();
  KeyReader(const KeyReader&) = delete;
  KeyReader& operator=(const KeyReader&) = delete;

  // Returns the descriptor to poll for keys, or -1 if standard input is not a terminal or this
  // process runs in the terminal's background.
  int fd() const noexcept;
  // Returns the next key, or 0 if there is none. Does not wait. After an error there are no more.
  char Read() noexcept;

 private:
  bool active_ = false;
  termios before_{};
};

}  // namespace graphd::ctl
