// SPDX-License-Identifier: Apache-2.0
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/activity/job_lines.h"
#include "ctl/activity/operation_times.h"
#include "ctl/activity/server_rates.h"
#include "ctl/activity/tensor_preparation.h"
#include "ctl/plan/json_value.h"
#include "ctl/terminal/key_reader.h"
#include "ctl/terminal/signals.h"
#include "ctl/verbs/find_servers.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr const char* kTopExamples = R"(
ROWS/s and EDGES/s are those in graphd's answers. Trainers on its own machine read most of them from
mapped memory, without a request; they count MAPPED ROWS/s and MAPPED EDGES/s themselves, and tell
graphd once a second, so that these rates are uneven if --interval is below 2. CACHED is the share of
the rows that trainers on other machines looked for in their row caches (graphctl launch --row_cache)
and found there. P50 and P99 are the times that half and 99 % of an operation's requests did not
exceed, from their arrival until the answer was ready; QUEUE is the part of it in which they waited
for threads of graphd, or for their turn among the changes of all jobs. Waits for indexes that are
built are not part of QUEUE. change_rows is a push: the changes of an embedding's or a tensor's rows.

Examples:
  graphctl top                                    # every server of this machine
  graphctl top --server_name products --ip_config ip_config.txt --interval 5
  graphctl top --once --json                      # for scripts: the activity of two seconds
)";

struct TopArguments {
  HostOptions hosts;
  double interval = 2;
  bool once = false, json = false;
};

using Sample = std::vector<FoundServer>;  // the answers of all daemons at one time

Sample Ask(const TopArguments& arguments, bool named, const std::function<void()>& on_wait) {
  return FindServers(arguments.hosts, RuntimeDirOf(arguments.hosts),
                     {.only = named ? arguments.hosts.server.server_name : "",
                      .operations = true,
                      .on_wait = on_wait});
}

// Returns the status of the same daemon in an earlier sample, or null.
json StatusIn(const Sample& sample, const FoundServer& server) {
  for (const FoundServer& found : sample) {
    // On one machine, servers with different names may have the same port at different addresses.
    if (found.error.empty() && found.host == server.host &&
        ValueOr(found.status, "server_name", "") == ValueOr(server.status, "server_name", "")) {
      return found.status;
    }
  }
  return {};
}

// The activity of all daemons between two samples.
struct Activity {
  json machines = json::array();
  std::vector<MachineOperations> operations = {};
};

Activity ActivityBetween(const Sample& before, const Sample& after) {
  Activity activity;
  for (const FoundServer& found : after) {
    if (!found.error.empty()) {
      activity.machines.push_back({{"host", found.host}, {"error", found.error}});
      continue;
    }
    const json earlier = StatusIn(before, found);
    json machine = MachineRates(found.host, earlier, found.status);
    if (!found.serves()) machine["loading"] = found.status["loading"];
    machine["preparing"] = PreparedTensors(found.status);
    MachineOperations operations = OperationsBetween(found.host, earlier, found.status);
    if (operations.seconds > 0) machine["operations"] = OperationRates(operations);
    activity.machines.push_back(std::move(machine));
    activity.operations.push_back(std::move(operations));
  }
  return activity;
}

std::vector<json> StatusesIn(const Sample& sample) {
  std::vector<json> statuses;
  for (const FoundServer& found : sample) statuses.push_back(found.status);
  return statuses;
}

// Returns the lines of a screen that is `width` columns wide. Only messages may be longer.
std::vector<std::string> Lines(const TopArguments& arguments, bool named, const Sample& before,
                               const Sample& after, const char* ends, size_t width) {
  char now[32];
  const std::time_t seconds = std::time(nullptr);
  std::tm local{};
  std::strftime(now, sizeof now, "%H:%M:%S", ::localtime_r(&seconds, &local));
  std::vector<std::string> lines{StrCat("graphctl top, ", now, ends)};
  if (after.empty()) {
    lines.push_back(NoServerText(arguments.hosts, RuntimeDirOf(arguments.hosts), named));
  }
  const Activity activity = ActivityBetween(before, after);
  const auto append = [&lines](std::vector<std::string> more) {
    for (std::string& line : more) lines.push_back(std::move(line));
  };
  if (!after.empty()) append(RatesTable(activity.machines, width));
  auto table = OperationsTable(activity.operations, width);
  auto jobs = JobLines(StatusesIn(after), activity.machines);
  auto preparation = PreparationLines(activity.machines);
  if (!table.empty()) {
    lines.emplace_back();
    append(std::move(table));
    if (!jobs.empty() || !preparation.empty()) lines.emplace_back();
  }
  append(std::move(jobs));
  append(std::move(preparation));
  return lines;
}

struct TerminalSize {
  size_t rows, columns;
};

TerminalSize SizeOfTerminal() {
  winsize window{};
  ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &window);
  return {window.ws_row > 1 ? window.ws_row - 1u : 24, window.ws_col > 0 ? window.ws_col : 80u};
}

// Replaces the terminal's content. Omits the parts of `lines` that do not fit.
void Draw(const std::vector<std::string>& lines, const TerminalSize& size) {
  std::fputs("\x1b[H", stdout);
  for (size_t i = 0; i < std::min(size.rows, lines.size()); i++) {
    std::printf("%s\x1b[K\n", lines[i].substr(0, size.columns).c_str());
  }
  std::fputs("\x1b[J", stdout);
}

void Show(const TopArguments& arguments, bool named, const Sample& before, const Sample& after,
          bool terminal, bool has_keys) {
  if (arguments.json) {
    const json machines = ActivityBetween(before, after).machines;
    std::puts(machines.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else if (terminal) {
    const TerminalSize size = SizeOfTerminal();
    Draw(Lines(arguments, named, before, after, has_keys ? "; press q to end" : "", size.columns),
         size);
  } else {
    std::puts((Join(Lines(arguments, named, before, after, "", SIZE_MAX), "\n") + "\n").c_str());
  }
  std::fflush(stdout);
}

// Waits for an interval, which may be 0. Returns true if there is a signal, or the key q.
bool UserEnds(const UniqueFd& signals, KeyReader& keys, double interval) {
  const auto end = Clock::now() + std::chrono::duration<double>(interval);
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now());
    const int wait = std::max(0, static_cast<int>(left.count()));
    pollfd told[2] = {{signals.get(), POLLIN, 0}, {keys.fd(), POLLIN, 0}};
    if (::poll(told, 2, wait) <= 0) {
      if (wait == 0) return false;
      continue;
    }
    if (told[0].revents != 0) return true;
    if (const char key = keys.Read(); key == 'q' || key == 'Q') return true;
    if ((told[1].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0) return true;  // no terminal now
  }
}

void Top(TopArguments& arguments, bool named) {
  Resolve(arguments.hosts);
  const UniqueFd signals = WatchSignals();
  const bool terminal = !arguments.json && !arguments.once && ::isatty(STDOUT_FILENO) == 1;
  std::optional<KeyReader> keys(terminal);
  // The user may end this command while it waits for answers. The links to the machines can't be
  // closed then, because that waits for their supervisors, so the process exits without it.
  const auto on_wait = [&] {
    if (!UserEnds(signals, *keys, 0)) return;
    keys.reset();  // gives the terminal its settings back
    std::fflush(stdout);
    ::_exit(0);
  };
  if (terminal) std::fputs("\x1b[2J", stdout);
  Sample before;
  Sample after = Ask(arguments, named, on_wait);
  for (;;) {
    // If a user watches, the first screen is printed immediately, without rates.
    if (!arguments.once) Show(arguments, named, before, after, terminal, keys->fd() >= 0);
    if (std::ferror(stdout)) return;  // nobody reads the output any longer
    if (UserEnds(signals, *keys, arguments.interval)) return;
    before = std::move(after);
    after = Ask(arguments, named, on_wait);
    if (arguments.once) break;
  }
  Show(arguments, named, before, after, false, false);
  const bool all_serve =
      std::ranges::all_of(after, [](const FoundServer& found) { return found.serves(); });
  if (!all_serve || (named && after.empty())) SetExitCode(ExitCode(ErrorCode::kUnavailable));
}

}  // namespace

void AddTop(CLI::App& app) {
  auto arguments = std::make_shared<TopArguments>();
  CLI::App* verb = app.add_subcommand("top", "Show the activity of servers, updated at intervals");
  verb->footer(kTopExamples);
  AddServerName(*verb, arguments->hosts);
  AddHostOptions(*verb, arguments->hosts);
  verb->add_option("--interval", arguments->interval, "Seconds between two updates")
      ->default_val(2)
      ->check(CLI::Range(0.1, 86400.0));
  verb->add_flag("--once", arguments->once, "Show the activity of one interval, then exit");
  verb->add_flag("--json", arguments->json, "Print one JSON array of machines per line");
  verb->callback(
      [arguments, verb] { Top(*arguments, verb->get_option("--server_name")->count() > 0); });
}

}  // namespace graphd::ctl
