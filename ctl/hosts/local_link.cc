// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <thread>

#include "base/strings.h"
#include "ctl/hosts/child.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/hosts/host_link.h"
#include "ctl/hosts/line_splitter.h"

namespace graphd::ctl {
namespace {

class LocalLink : public HostLink {
 public:
  LocalLink(size_t host, const std::string& graphctl, EventQueue& queue)
      : host_(host), queue_(queue) {
    Child child = StartChild(graphctl, "supervise");
    pid_ = child.pid;
    input_ = std::move(child.in);
    reader_ = std::thread(
        [this, o = std::move(child.out), e = std::move(child.err)] { Read(o.get(), e.get()); });
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
      input_.reset();  // the process has ended; kClosed reports the reason
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
    const int status = AwaitChild(pid_);
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
