// SPDX-License-Identifier: Apache-2.0
#include "ctl/orders/switch_order.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "base/strings.h"

namespace graphd::ctl {
namespace {

constexpr std::chrono::milliseconds kCallTimeout{30000};
constexpr int kProgressMilliseconds = 100;
constexpr int kAliveMilliseconds = 1000;

// Returns the next line of standard input, without the newline; an empty text if none has come in
// time; kAbortLine at the end of the input. `text` is the part of the input that was read before,
// and gets what is read here.
std::string ReadLine(int wait_milliseconds, std::string& text) {
  if (const size_t end = text.find('\n'); end != std::string::npos) return text.substr(0, end);
  pollfd input{STDIN_FILENO, POLLIN, 0};
  if (::poll(&input, 1, wait_milliseconds) <= 0) return "";
  char bytes[256];
  const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
  if (got < 0 && errno == EINTR) return "";
  if (got <= 0) return kAbortLine;
  text.append(bytes, static_cast<size_t>(got));
  const size_t end = text.find('\n');
  return end == std::string::npos ? "" : text.substr(0, end);
}

}  // namespace

nlohmann::json SwitchGraph(const ControlOrder& order, ControlClient& client,
                           const std::function<void(const nlohmann::json&)>& send,
                           std::string input) {
  client.SetTimeout(kCallTimeout);
  const std::vector<GraphVersionStatus> graphs = client.Status().graphs;
  const std::string before = graphs.empty() ? "" : graphs.front().fingerprint;
  client.PrepareSwitch(order.part_config, order.version, order.by);
  std::string line;
  bool prepared = false;
  while (line.empty()) {
    const SwitchProgress progress = client.ProgressOfSwitch();
    if (!prepared) send({{"t", "progress"}, {"done", progress.done}, {"total", progress.total}});
    if (progress.ready && !prepared) {
      prepared = true;
      send({{"t", "prepared"}});
    }
    line = ReadLine(prepared ? kAliveMilliseconds : kProgressMilliseconds, input);
  }
  if (!prepared || line != kCommitLine) {
    Throw(ErrorCode::kUnavailable,
          "not switched, because not all daemons of the server could; nothing has changed here");
  }
  const Switched switched = client.CommitSwitch();
  return {{"part_config", switched.part_config},
          {"fingerprint", switched.fingerprint},
          {"same_files", switched.fingerprint == before},
          {"jobs", switched.jobs}};
}

}  // namespace graphd::ctl
