// SPDX-License-Identifier: Apache-2.0
#include "ctl/orders/answer.h"

#include <poll.h>
#include <unistd.h>

#include <exception>
#include <span>
#include <string>

#include "base/file.h"
#include "ctl/hosts/frame_reader.h"

namespace graphd::ctl {

void SendFrame(const nlohmann::json& header, std::string_view payload) {
  const std::string frame = EncodeFrame(header, payload);
  WriteExactly(STDOUT_FILENO, std::as_bytes(std::span(frame)), "standard output");
}

int SendError(const Error& error) noexcept {
  try {
    SendFrame({{"t", "error"}, {"code", ErrorCodeName(error.code())}, {"text", error.what()}});
  } catch (const std::exception&) {
    // The asker has gone.
  }
  return ExitCode(error.code());
}

bool PauseWhileAsked(int milliseconds) {
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (::poll(&input, 1, milliseconds) <= 0) return true;
  char bytes[256];
  return ::read(STDIN_FILENO, bytes, sizeof bytes) > 0;
}

}  // namespace graphd::ctl
