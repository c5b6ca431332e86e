// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "base/clock.h"
#include "base/failure.h"
#include "base/strings.h"
#include "base/threads/mutex.h"
#include "ctl/hosts/child_link.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/hosts/line_splitter.h"
#include "ctl/plan/user_command.h"
#include "ctl/ssh/ssh_link.h"
#include "ctl/ssh/ssh_session.h"

namespace graphd::ctl {
namespace {

constexpr int kFullPause = 10;  // milliseconds between two checks of a full queue

// A link whose session is used by a single thread. Other threads pass lines to it through
// `outbox_`.
class SshLink : public HostLink {
 public:
  SshLink(size_t host, std::string address, std::string graphctl, const SshOptions& options,
          EventQueue& queue)
      : host_(host),
        address_(std::move(address)),
        graphctl_(std::move(graphctl)),
        options_(options),
        queue_(queue),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!wake_) ThrowErrno("can't create", "an eventfd");
    thread_ = std::thread([this] { Run(); });
  }

  ~SshLink() override {
    closing_ = true;
    Wake();
    thread_.join();
  }

  void Send(const std::string& line) override {
    {
      const MutexLock lock(mutex_);
      outbox_ += line + "\n";
    }
    Wake();
  }

  // If the connection is still being made, gives it up: no supervisor would receive the line "end".
  void End() override {
    if (!connected_) closing_ = true;
    HostLink::End();
  }

 private:
  void Wake() {
    const uint64_t one = 1;
    [[maybe_unused]] ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  void Run() {
    HostEvent closed{host_, HostEvent::Kind::kClosed, {}, "", ErrorCode::kUnavailable};
    try {
      SshSession session(address_, options_, [this] { return closing_.load(); });
      SshChannel channel(session, "exec " + ShellQuote(graphctl_) + " supervise");
      connected_ = true;
      Converse(session, channel);
      const int status = channel.ExitStatus();
      if (!answered_) {
        closed.code = ErrorCode::kNotFound;
        closed.text = StrCat("its graphctl, ", graphctl_, ", could not be run (exit code ", status,
                             "); install it there, or name it with --graphctl");
      }
    } catch (...) {
      const Error error = CurrentError();
      closed.code = error.code();
      closed.text = error.what();
    }
    queue_.Push(std::move(closed));
  }

  // Relays messages until the channel ends. Before it waits for the session's socket and for our
  // own wake-ups, it reads everything that libssh has already taken from the socket. While the
  // queue is full, it reads nothing, but still sends outgoing lines, above all pings.
  void Converse(SshSession& session, SshChannel& channel) {
    FrameReader frames(
        [this](const nlohmann::json& header, std::string payload) {
          answered_ = true;
          queue_.Push({host_, HostEvent::Kind::kFrame, header, std::move(payload), {}});
        },
        [this](const std::string& line) { PushNoise(line); });
    LineSplitter noise([this](std::string_view line) { PushNoise(std::string(line)); });
    bool input_closed = false;
    const Clock::time_point start = Clock::now();
    while (true) {
      const std::string outgoing = TakeOutbox();
      if (!outgoing.empty()) channel.Write(outgoing);
      if (closing_ && !input_closed) {
        channel.CloseInput();
        input_closed = true;
      }
      if (!queue_.HasRoom()) {
        ::poll(nullptr, 0, kFullPause);
        continue;
      }
      if (ReadAll(channel, frames, noise)) continue;
      if (channel.AtEnd()) break;  // only after all output is read
      if (!answered_ && SecondsSince(start) > session.answer_timeout()) {
        Throw(ErrorCode::kUnavailable, "its graphctl, ", graphctl_, ", has not answered within ",
              session.answer_timeout(),
              " s (--connect_timeout, --host_timeout); check what its sshd and the user's login "
              "shell there run before a command");
      }
      pollfd ready[2] = {{session.fd(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
      ::poll(ready, 2, 200);
      uint64_t count;
      [[maybe_unused]] ssize_t got = ::read(wake_.get(), &count, sizeof count);
    }
    noise.Finish();
  }

  // Returns whether there was any output.
  static bool ReadAll(SshChannel& channel, FrameReader& frames, LineSplitter& noise) {
    char bytes[65536];
    const size_t out = channel.Read(false, bytes, sizeof bytes);
    if (out > 0) frames.Feed({bytes, out});
    const size_t err = channel.Read(true, bytes, sizeof bytes);
    if (err > 0) noise.Feed({bytes, err});
    return out + err > 0;
  }

  std::string TakeOutbox() {
    const MutexLock lock(mutex_);
    return std::exchange(outbox_, {});
  }

  void PushNoise(const std::string& line) {
    queue_.Push({host_, HostEvent::Kind::kNoise, {}, line, {}});
  }

  const size_t host_;
  const std::string address_, graphctl_;
  const SshOptions options_;
  EventQueue& queue_;
  UniqueFd wake_;
  std::atomic<bool> closing_{false}, connected_{false};
  bool answered_ = false;
  Mutex mutex_;
  std::string outbox_ GRAPHD_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace

LinkOpener LinksOverSsh(const std::string& own_path, const std::string& graphctl,
                        const SshOptions& options) {
  return [=](size_t host, const HostPlan& plan, EventQueue& queue) -> std::unique_ptr<HostLink> {
    if (plan.is_local) return OpenChildLink(host, {.words = {own_path, "supervise"}}, queue);
    return std::make_unique<SshLink>(host, plan.order.server.address, graphctl, options, queue);
  };
}

}  // namespace graphd::ctl
