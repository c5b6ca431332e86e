// SPDX-License-Identifier: Apache-2.0
#include "ctl/terminal/key_reader.h"

#include <unistd.h>

#include <cerrno>

namespace graphd::ctl {

KeyReader::KeyReader(bool wanted) {
  // The shell would stop a background process that changes the settings of its terminal.
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

int KeyReader::fd() const noexcept {
  return active_ && ::tcgetpgrp(STDIN_FILENO) == ::getpgrp() ? STDIN_FILENO : -1;
}

char KeyReader::Read() noexcept {
  char key = 0;
  if (fd() < 0) return '\0';
  const ssize_t got = ::read(STDIN_FILENO, &key, 1);
  if (got < 0 && errno != EINTR) active_ = false;
  return got == 1 ? key : '\0';
}

}  // namespace graphd::ctl
