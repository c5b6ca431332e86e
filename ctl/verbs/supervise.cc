// SPDX-License-Identifier: Apache-2.0
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

#include "base/strings.h"
#include "ctl/logs/send_logs.h"
#include "ctl/orders/answer.h"
#include "ctl/orders/job_orders.h"
#include "ctl/orders/server_orders.h"
#include "ctl/slurm/srun.h"
#include "ctl/supervise/detach.h"
#include "ctl/supervise/run_guarded.h"
#include "ctl/supervise/supervisor.h"
#include "ctl/verbs/verbs.h"

// The hidden verb that carries out graphctl's orders on a host. Each process reads one order from
// standard input, and carries it out. ctl/hosts/frame_reader.h describes the protocol.

namespace graphd::ctl {
namespace {

constexpr size_t kMaxOrder = size_t{8} << 20;

// Returns the first line of standard input, and the rest of the input that was read with it.
std::pair<std::string, std::string> ReadOrderLine() {
  std::string text;
  char bytes[65536];
  while (true) {
    const size_t end = text.find('\n');
    if (end != std::string::npos) return {text.substr(0, end), text.substr(end + 1)};
    const ssize_t got = ::read(STDIN_FILENO, bytes, sizeof bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text.size() > kMaxOrder) {
      Throw(ErrorCode::kInvalid,
            "supervise: standard input ended before its order; it is started by `graphctl "
            "launch`, not by hand");
    }
    text.append(bytes, static_cast<size_t>(got));
  }
}

int Supervise(GuardState& guard) {
  SendFrame({{"t", "hello"}, {"version", GRAPHD_VERSION}});
  try {
    auto [line, rest] = ReadOrderLine();
    HostOrder order = DecodeOrder(line);
    if (order.version != GRAPHD_VERSION) {
      Throw(ErrorCode::kVersion, "this host has graphctl ", GRAPHD_VERSION,
            " and the launching host has ", order.version, "; install the same version on both");
    }
    if (order.action == HostAction::kFollowJob) return FollowJob(order);
    if (order.action == HostAction::kTellJobOrder) return TellJobOrder(order);
    if (order.action == HostAction::kRestartJob) return RestartJob(order);
    if (order.action == HostAction::kServerLogs) return SendServerLogs(order, std::move(rest));
    if (order.action != HostAction::kRun) return CarryOutServerOrder(order, rest, guard);
    if (order.job.detach) return RunDetached(std::move(order), std::move(rest), guard);
    return Supervisor(std::move(order), std::move(rest), guard).Run();
  } catch (const Error& error) {
    return SendError(error);
  }
}

}  // namespace

void AddSupervise(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("supervise", "Run one host's part of a job");
  verb->group("");  // hidden
  auto node = std::make_shared<bool>(false);
  verb->add_flag("--node", *node, "Tell the name and the addresses of this node of Slurm");
  verb->callback([node] {
    if (*node) return AnswerAsNode();
    SetExitCode(RunGuarded(Supervise));
  });
}

}  // namespace graphd::ctl
