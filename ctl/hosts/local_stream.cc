// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/strings.h"
#include "ctl/hosts/child.h"
#include "ctl/hosts/host_stream.h"

namespace graphd::ctl {
namespace {

constexpr int kPipeBytes = 1 << 20;
constexpr double kPatience = 5;  // for the process to end after its input was closed

void MakeNonBlocking(const UniqueFd& fd) {
  if (::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK) != 0) {
    ThrowErrno("can't prepare", "a pipe");
  }
}

class LocalStream : public HostStream {
 public:
  LocalStream(const std::string& graphctl, const std::string& verb)
      : graphctl_(graphctl), child_(StartChild({graphctl, verb})) {
    for (const UniqueFd* fd : {&child_.in, &child_.out, &child_.err}) MakeNonBlocking(*fd);
    ::fcntl(child_.in.get(), F_SETPIPE_SZ, kPipeBytes);  // allows fewer, larger writes; may fail
  }

  ~LocalStream() override {
    child_.in.reset();
    child_.out.reset();
    child_.err.reset();
    if (child_.pid > 0) LetEnd(child_.pid, kPatience);
  }

  size_t WriteSome(std::string_view bytes) override {
    const ssize_t put = ::write(child_.in.get(), bytes.data(), bytes.size());
    if (put >= 0) return static_cast<size_t>(put);
    // After EPIPE, the process's last output and its end can still be read.
    if (errno != EAGAIN && errno != EINTR && errno != EPIPE)
      ThrowErrno("can't write to", "graphctl");
    return 0;
  }

  size_t Read(bool from_stderr, char* bytes, size_t size) override {
    UniqueFd& fd = from_stderr ? child_.err : child_.out;
    if (!fd) return 0;
    const ssize_t got = ::read(fd.get(), bytes, size);
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) fd.reset();
    return 0;
  }

  bool AtEnd() override { return !child_.out && !child_.err; }

  void Wait(bool to_write, int milliseconds) override {
    pollfd ends[3] = {{child_.out.get(), POLLIN, 0},
                      {child_.err.get(), POLLIN, 0},
                      {to_write ? child_.in.get() : -1, POLLOUT, 0}};
    ::poll(ends, 3, milliseconds);
  }

  std::string WhyItEnded() override {
    const int status = AwaitChild(std::exchange(child_.pid, 0));
    if (WIFSIGNALED(status)) return StrCat(graphctl_, " was killed by signal ", WTERMSIG(status));
    return StrCat(graphctl_, " exited with ", WEXITSTATUS(status));
  }

 private:
  const std::string graphctl_;
  Child child_;
};

}  // namespace

std::unique_ptr<HostStream> OpenLocalStream(const std::string& graphctl, const std::string& verb) {
  return std::make_unique<LocalStream>(graphctl, verb);
}

}  // namespace graphd::ctl
