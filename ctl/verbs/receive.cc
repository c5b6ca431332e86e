// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "base/strings.h"
#include "ctl/copy/receiver.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/verbs/verbs.h"

// The hidden verb that receives files on behalf of `graphctl copy`; see ctl/copy/protocol.h.

namespace graphd::ctl {
namespace {

constexpr size_t kRead = size_t{256} << 10;
// The time for which a new copy waits until the receiver of an earlier copy has noticed that its
// sender has ended.
constexpr double kLockSeconds = 20;

void Send(const std::string& frame) {
  WriteExactly(STDOUT_FILENO, std::as_bytes(std::span(frame)), "standard output");
}

// Reads some bytes of standard input and passes them to `frames`. Returns false at the end of the
// input.
bool FeedSome(FrameReader& frames, std::vector<char>& buffer, double timeout) {
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  const int got = ::poll(&ready, 1, timeout > 0 ? static_cast<int>(timeout * 1000) : -1);
  if (got == 0) {
    Throw(ErrorCode::kUnavailable, "the sender was silent for ", timeout, " s; ended the copy");
  }
  const ssize_t count = got < 0 ? -1 : ::read(STDIN_FILENO, buffer.data(), buffer.size());
  if (count < 0 && errno != EINTR) ThrowErrno("can't read", "standard input");
  if (count > 0) frames.Feed({buffer.data(), static_cast<size_t>(count)});
  return count != 0;
}

int Receive() {
  const auto fail = [](ErrorCode code, const char* text) {
    Send(EncodeFrame({{"t", "error"}, {"code", ErrorCodeName(code)}, {"text", text}}));
    return ExitCode(code);
  };
  try {
    Send(EncodeFrame({{"t", "hello"}, {"version", GRAPHD_VERSION}}));
    Receiver receiver(Send, kLockSeconds);
    FrameReader frames([&](const nlohmann::json& header,
                           std::string payload) { receiver.OnFrame(header, payload); },
                       [](const std::string& line) {
                         Throw(ErrorCode::kInvalid, "receive: '", line.substr(0, 64),
                               "' is not a message; it is started by `graphctl copy`, not by hand");
                       });
    std::vector<char> buffer(kRead);
    while (!receiver.finished()) {
      if (!FeedSome(frames, buffer, receiver.timeout())) return ExitCode(ErrorCode::kUnavailable);
    }
    return 0;
  } catch (const Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::exception& error) {  // a header with unexpected types
    return fail(ErrorCode::kInvalid, error.what());
  }
}

}  // namespace

void AddReceive(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("receive", "Receive one machine's part of a copy");
  verb->group("");  // hidden
  verb->callback([] { SetExitCode(Receive()); });
}

}  // namespace graphd::ctl
