// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/host_follower.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/terminal/signals.h"

namespace graphd::ctl {

HostFollower::HostFollower(std::vector<HostPlan> plans, std::vector<std::string> labels,
                           LinkOpener open)
    : plans_(std::move(plans)),
      labels_(std::move(labels)),
      open_(std::move(open)),
      states_(plans_.size()) {}

int HostFollower::Run() {
  const UniqueFd signals = WatchSignals();
  OpenLinks();
  while (!AllClosed() || !console_.empty()) {
    const bool take = !console_.full();
    pollfd inputs[3] = {{take ? queue_.fd() : -1, POLLIN, 0},
                        {signals.get(), POLLIN, 0},
                        {console_.fd(), POLLOUT, 0}};
    ::poll(inputs, 3, 500);
    signalfd_siginfo info{};
    if (::read(signals.get(), &info, sizeof info) == sizeof info) {
      OnSignal();
      Leave(128 + static_cast<int>(info.ssi_signo));
    }
    if (take) {
      for (const HostEvent& event : queue_.TakeAll()) Handle(event);
      Show();
    }
    console_.WriteSome();
    if (console_.out_is_broken()) Leave(128 + SIGPIPE);
  }
  const int code = Conclude();
  console_.WriteOrDrop();
  return code;
}

// Exits the process without waiting for the threads of the links, because these may be waiting for
// room in the queue of events.
void HostFollower::Leave(int code) {
  console_.WriteOrDrop();
  ::_exit(code);
}

void HostFollower::OpenLinks() {
  ::signal(SIGPIPE, SIG_IGN);
  for (size_t i = 0; i < plans_.size(); i++) {
    HostOrder order = plans_[i].order;
    order.version = GRAPHD_VERSION;
    states_[i].link = open_(i, plans_[i], queue_);
    Send(i, EncodeOrder(order));
  }
}

void HostFollower::Handle(const HostEvent& event) {
  State& state = states_[event.host];
  switch (event.kind) {
    case HostEvent::Kind::kFrame:
      return HandleFrame(event);
    case HostEvent::Kind::kNoise:
      return console_.Add(STDERR_FILENO,
                          StrCat("[", labels_[event.host], "] ", IndentedText(event.text), "\n"));
    case HostEvent::Kind::kClosed:
      state.closed = true;
      if (state.error.empty() && !HasToldAll(event.host, event)) {
        state.code = event.code;
        state.error = event.text.empty() ? "its graphctl ended without an answer" : event.text;
      }
      OnClosed(event.host);
  }
}

void HostFollower::HandleFrame(const HostEvent& event) {
  State& state = states_[event.host];
  const std::string kind = ValueOr(event.header, "t", "");
  if (kind == "error") {
    state.code = ErrorCodeFromName(ValueOr(event.header, "code", ""));
    state.error = ValueOr(event.header, "text", "it failed");
  } else if (kind == "hello") {
    const std::string version = ValueOr(event.header, "version", "?");
    if (version == GRAPHD_VERSION) return;
    state.code = ErrorCode::kVersion;
    state.error = StrCat("it has graphctl ", version, ", and this machine has ", GRAPHD_VERSION,
                         "; install the same version on both, or name another with --graphctl");
  } else {
    OnFrame(event.host, kind, event);
  }
}

void HostFollower::PrintMessage(const std::string& text) {
  console_.Add(STDERR_FILENO, "graphctl: " + text + "\n");
}

bool HostFollower::AllClosed() const {
  return std::all_of(states_.begin(), states_.end(), [](const State& each) { return each.closed; });
}

}  // namespace graphd::ctl
