// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "base/strings.h"
#include "ctl/hosts/host_link.h"
#include "ctl/supervise/frames.h"
#include "ctl/supervise/line_splitter.h"

namespace graphd::ctl {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Pipe MakePipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) ThrowErrno("can't make", "a pipe");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// A session of its own, so that Ctrl-C in the terminal reaches graphctl only.
pid_t Spawn(const std::string& graphctl, int in, int out, int err) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, err, STDERR_FILENO);
  sigset_t none, defaults;
  ::sigemptyset(&none);
  ::sigemptyset(&defaults);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) ::sigaddset(&defaults, signal);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(
      &attributes,
      static_cast<short>(POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
  std::string program = graphctl, verb = "supervise";
  char* words[] = {program.data(), verb.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, graphctl.c_str(), &actions, &attributes, words, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) {
    errno = error;
    ThrowErrno("can't run", graphctl);
  }
  return pid;
}

class LocalLink : public HostLink {
 public:
  LocalLink(size_t host, const std::string& graphctl, EventQueue& queue)
      : host_(host), queue_(queue) {
    Pipe in = MakePipe(), out = MakePipe(), err = MakePipe();
    pid_ = Spawn(graphctl, in.read.get(), out.write.get(), err.write.get());
    input_ = std::move(in.write);
    reader_ = std::thread(
        [this, o = std::move(out.read), e = std::move(err.read)] { Read(o.get(), e.get()); });
  }

  ~LocalLink() override {
    input_.reset();
    reader_.join();
  }

  void Send(const std::string& line) override {
    if (!input_) return;
    const std::string text = line + "\n";
    try {
      WriteExactly(input_.get(), std::as_bytes(std::span(text)), "the supervisor's input");
    } catch (const Error&) {
      input_.reset();  // it has ended; kClosed says why
    }
  }

 private:
  void Read(int out, int err) {
    FrameReader frames(
        [this](const nlohmann::json& header, std::string payload) {
          queue_.Push({host_, HostEvent::Kind::kFrame, header, std::move(payload), {}});
        },
        [this](const std::string& line) { PushNoise(line); });
    LineSplitter noise([this](std::string_view line) { PushNoise(std::string(line)); });
    HostEvent closed{host_, HostEvent::Kind::kClosed, {}, "", ErrorCode::kInternal};
    try {
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
    } catch (const Error& error) {
      closed.text = error.what();
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    if (closed.text.empty() && WIFSIGNALED(status)) {
      closed.text = StrCat("its supervisor was killed by signal ", WTERMSIG(status));
    }
    queue_.Push(std::move(closed));
  }

  void PushNoise(const std::string& line) {
    queue_.Push({host_, HostEvent::Kind::kNoise, {}, line, {}});
  }

  const size_t host_;
  EventQueue& queue_;
  pid_t pid_ = 0;
  UniqueFd input_;
  std::thread reader_;
};

}  // namespace

std::unique_ptr<HostLink> OpenLocalLink(size_t host, const std::string& graphctl,
                                        EventQueue& queue) {
  return std::make_unique<LocalLink>(host, graphctl, queue);
}

}  // namespace graphd::ctl
