// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include "base/strings.h"
#include "ctl/plan/user_command.h"
#include "ctl/ssh/ssh_session.h"
#include "ctl/ssh/ssh_stream.h"

namespace graphd::ctl {
namespace {

class SshStream : public HostStream {
 public:
  SshStream(const std::string& address, const std::string& graphctl, const std::string& verb,
            const SshOptions& options, const std::function<bool()>& cancelled)
      : graphctl_(graphctl),
        session_(address, options, cancelled),
        channel_(session_, "exec " + ShellQuote(graphctl) + " " + verb) {}

  size_t WriteSome(std::string_view bytes) override { return channel_.WriteSome(bytes); }

  size_t Read(bool from_stderr, char* bytes, size_t size) override {
    return channel_.Read(from_stderr, bytes, size);
  }

  bool AtEnd() override { return channel_.AtEnd(); }

  // Waiting for input also waits until bytes can be written, because the host enlarges the
  // channel's window by sending a message.
  void Wait(bool, int milliseconds) override {
    pollfd ready{session_.fd(), POLLIN, 0};
    ::poll(&ready, 1, milliseconds);
  }

  std::string WhyItEnded() override {
    const int status = channel_.ExitStatus();
    return status < 0 ? graphctl_ + " was killed" : StrCat(graphctl_, " exited with ", status);
  }

 private:
  const std::string graphctl_;
  SshSession session_;
  SshChannel channel_;
};

}  // namespace

std::unique_ptr<HostStream> OpenSshStream(const std::string& address, const std::string& graphctl,
                                          const std::string& verb, const SshOptions& options,
                                          const std::function<bool()>& cancelled) {
  return std::make_unique<SshStream>(address, graphctl, verb, options, cancelled);
}

}  // namespace graphd::ctl
