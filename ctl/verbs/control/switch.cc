// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <memory>
#include <numeric>
#include <random>

#include "base/clock.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/terminal/progress_line.h"
#include "ctl/verbs/control/ask.h"

namespace graphd::ctl {
namespace {

constexpr const char* kSwitchExamples = R"(
The daemons load another version of their graph beside the one that they serve, after they have
checked that there is memory for both. When all have it, new jobs get it. Jobs that run keep theirs
until they end; then its memory is given back. If one daemon can't load it, none switches.
Without PART_CONFIG, the daemons take the one of their configuration, which they read again. After a
restart they serve the version that they were switched to, unless the configuration names a part
config other than these two.
Without --ip_config, all daemons of this machine with the server's name are switched.

Examples:
  graphctl server switch /data/2026-12/products.json --server_name products \
      --ip_config ip_config.txt
  graphctl server switch --server_name products
)";

// The progress of all daemons together.
class LoadBar {
 public:
  std::function<void(size_t host, const nlohmann::json& frame)> Callback() {
    return [this](size_t host, const nlohmann::json& frame) {
      if (host >= done_.size()) {
        done_.resize(host + 1);
        total_.resize(host + 1);
      }
      done_[host] = ValueOr(frame, "done", uint64_t{0});
      total_[host] = ValueOr(frame, "total", uint64_t{0});
      const uint64_t done = std::accumulate(done_.begin(), done_.end(), uint64_t{0});
      const uint64_t total = std::accumulate(total_.begin(), total_.end(), uint64_t{0});
      if (total == 0) return;
      line_.Show("loading the graph", done, total, TransferText(done, total, SecondsSince(start_)));
    };
  }
  void Finish() { line_.Finish(); }

 private:
  std::vector<uint64_t> done_, total_;  // bytes, by host
  const Clock::time_point start_ = Clock::now();
  ProgressLine line_;
};

std::string NewVersion() {
  std::random_device random;
  char digits[17];
  std::snprintf(digits, sizeof digits, "%08x%08x", random(), random());
  return digits;
}

void Switch(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kSwitch;
  arguments.order.version = NewVersion();
  LoadBar bar;
  std::vector<ControlAnswer> answers = AskDaemons(arguments, bar.Callback());
  bar.Finish();
  // The exit code is that of the daemon that could not switch, and not that of the others, which
  // have only given up the switch because of it.
  const auto cause = std::find_if(answers.begin(), answers.end(), [](const ControlAnswer& each) {
    return !each.ok && !each.error.starts_with("not switched, ");
  });
  if (cause != answers.end()) {
    for (ControlAnswer& answer : answers) {
      if (!answer.ok) answer.code = cause->code;
    }
  }
  ShowAnswers(arguments, answers, [](const ControlAnswer& answer) {
    const auto jobs = ValueOr(answer.answer, "jobs", uint64_t{0});
    const bool is_same = ValueOr(answer.answer, "same_files", false);
    return StrCat(answer.host, ": switched to ", ValueOr(answer.answer, "part_config", "?"),
                  " (fingerprint ", ValueOr(answer.answer, "fingerprint", "?"),
                  is_same ? ", the same files as before); " : "); ",
                  jobs == 0   ? "no job uses an earlier version"
                  : jobs == 1 ? "1 job keeps an earlier version"
                              : StrCat(jobs, " jobs keep an earlier version"),
                  "\n");
  });
  const auto switched =
      std::count_if(answers.begin(), answers.end(), [](const auto& each) { return each.ok; });
  if (switched > 0 && static_cast<size_t>(switched) < answers.size()) {
    std::fprintf(stderr, "graphctl: only %td of %zu daemons have switched; run the command again\n",
                 switched, answers.size());
  }
}

}  // namespace

void AddSwitch(CLI::App& server) {
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* const verb =
      AddControlVerb(server, "switch", "Serve another version of the graph to new jobs",
                     kSwitchExamples, arguments);
  verb->add_option("part_config", arguments->hosts.server.part_config,
                   "Part config (<graph>.json) on every host; relative to the workspace");
  verb->callback([arguments] { Switch(*arguments); });
}

}  // namespace graphd::ctl
