// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/key_reader.h"

#include <unistd.h>

namespace graphd::ctl {

KeyReader::KeyReader(bool wanted) {
  // A job in the background would be stopped for changing its terminal.
  if (!wanted || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
  if (::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  termios keys = before_;
  keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  keys.c_cc[VMIN] = 0;
  keys.c_cc[VTIME] = 0;
  active_ = ::tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
}

KeyReader::~KeyReader() {
  if (active_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

int KeyReader::fd() const noexcept { return active_ ? STDIN_FILENO : -1; }

char KeyReader::Read() const {
  char key = 0;
  return active_ && ::read(STDIN_FILENO, &key, 1) == 1 ? key : '\0';
}

}  // namespace graphd::ctl
