// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/child_link.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/failure.h"
#include "base/strings.h"
#include "ctl/hosts/child.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/hosts/line_splitter.h"

namespace graphd::ctl {
namespace {

constexpr size_t kUsualPipe = 65536;
constexpr int kLargePipe = 1 << 20;  // the largest that users other than root may have

class ChildLink : public HostLink {
 public:
  ChildLink(size_t host, SupervisorCommand command, EventQueue& queue)
      : host_(host), command_(std::move(command)), queue_(queue) {
    Child child = StartChild(command_.words, command_.without);
    pid_ = child.pid;
    // Signals are sent through a pidfd, because the thread that reads the process's output may
    // already have reaped the process when the job ends.
    process_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
    input_ = std::move(child.in);
    reader_ = std::thread([this, o = std::move(child.out), e = std::move(child.err)]() mutable {
      Read(std::move(o), std::move(e));
    });
  }

  ~ChildLink() override {
    input_.reset();
    reader_.join();
  }

  void Send(const std::string& line) override {
    if (!input_) return;
    const std::string text = line + "\n";
    // A relay (SupervisorCommand) may begin to read its input late, so the pipe must have room for
    // the whole line. It is enlarged only if necessary, because the kernel limits the total size of
    // a user's pipes. Enlarging it may fail.
    if (text.size() > kUsualPipe) ::fcntl(input_.get(), F_SETPIPE_SZ, kLargePipe);
    try {
      WriteExactly(input_.get(), std::as_bytes(std::span(text)), "the supervisor's input");
    } catch (const Error&) {
      input_.reset();  // the process has ended; kClosed reports the reason
    }
  }

  void End() override {
    if (!command_.relay.empty() && !answered_) Signal(SIGTERM);
    HostLink::End();
  }

  void Abandon() override {
    if (!command_.relay.empty()) Signal(SIGKILL);
  }

 private:
  void Signal(int number) { ::syscall(SYS_pidfd_send_signal, process_.get(), number, nullptr, 0); }

  void Read(UniqueFd out, UniqueFd err) {
    HostEvent closed{host_, HostEvent::Kind::kClosed, {}, "", ErrorCode::kInternal};
    try {
      Relay(out.get(), err.get());
    } catch (...) {
      closed.text = CurrentError().what();
    }
    // The pipes are closed, so that a process that goes on writing does not wait for a reader.
    out.reset();
    err.reset();
    const int status = AwaitChild(pid_);
    if (closed.text.empty() && WIFSIGNALED(status)) {
      closed.code = ErrorCode::kUnavailable;
      closed.text = StrCat("its ", command_.relay.empty() ? "supervisor" : command_.relay,
                           " was killed by signal ", WTERMSIG(status));
    } else if (closed.text.empty() && !command_.relay.empty() && status != 0) {
      // The relay has failed without another error, so something has killed the supervisor.
      closed.code = ErrorCode::kUnavailable;
      closed.text = StrCat("its ", command_.relay, " exited with code ", WEXITSTATUS(status));
    }
    if (!answered_ && !command_.cannot_start.empty()) {
      closed.code = ErrorCode::kUnavailable;
      closed.text = command_.cannot_start;
    }
    queue_.Push(std::move(closed));
  }

  // Passes the child's output on until it ends.
  void Relay(int out, int err) {
    FrameReader frames(
        [this](const nlohmann::json& header, std::string payload) {
          answered_ = true;
          queue_.Push({host_, HostEvent::Kind::kFrame, header, std::move(payload), {}});
        },
        [this](const std::string& line) { PushNoise(line); });
    LineSplitter noise([this](std::string_view line) { PushNoise(std::string(line)); });
    pollfd inputs[2] = {{out, POLLIN, 0}, {err, POLLIN, 0}};
    while (inputs[0].fd >= 0 || inputs[1].fd >= 0) {
      queue_.WaitForRoom();
      if (::poll(inputs, 2, -1) < 0) continue;
      char bytes[65536];
      for (int i = 0; i < 2; i++) {
        if (!inputs[i].revents) continue;
        const ssize_t got = ::read(inputs[i].fd, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) {
          inputs[i].fd = -1;
        } else if (i == 0) {
          frames.Feed({bytes, static_cast<size_t>(got)});
        } else {
          noise.Feed({bytes, static_cast<size_t>(got)});
        }
      }
    }
    noise.Finish();
  }

  void PushNoise(const std::string& line) {
    if (command_.is_useless && command_.is_useless(line)) return;
    queue_.Push({host_, HostEvent::Kind::kNoise, {}, line, {}});
  }

  const size_t host_;
  const SupervisorCommand command_;
  EventQueue& queue_;
  pid_t pid_ = 0;
  std::atomic<bool> answered_{false};
  UniqueFd input_, process_;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<HostLink> OpenChildLink(size_t host, SupervisorCommand command, EventQueue& queue) {
  return std::make_unique<ChildLink>(host, std::move(command), queue);
}

}  // namespace graphd::ctl
