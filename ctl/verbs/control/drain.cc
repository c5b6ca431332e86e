// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/control/ask.h"

namespace graphd::ctl {
namespace {

constexpr const char* kDrainExamples = R"(
Jobs that are attached go on, and their processes may attach again. Others are refused with an error
that says who has drained the server, until `graphctl server undrain` or the server's next start.
Without --ip_config, all daemons of this machine with the server's name are drained.
With --wait, the command returns when no job is attached, or fails with exit code 7 after that time.

Examples:
  graphctl server drain --server_name products --reason "new disks at noon"
  graphctl server drain --server_name products --ip_config ip_config.txt
  graphctl server drain --server_name products --wait 3600 && systemctl stop graphd@products
  graphctl server undrain --server_name products --ip_config ip_config.txt
)";

std::string JobsGoOn(const nlohmann::json& answer) {
  const size_t jobs = ValueOr(answer, "jobs", nlohmann::json::array()).size();
  if (jobs == 0) return "no job is attached";
  return jobs == 1 ? "1 job goes on" : StrCat(jobs, " jobs go on");
}

void Drain(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kDrain;
  ShowAnswers(arguments, AskDaemons(arguments), [](const ControlAnswer& answer) {
    return StrCat(answer.host, ": ",
                  ValueOr(answer.answer, "changed", false) ? "drained" : "was already drained",
                  "; ", JobsGoOn(answer.answer), "\n");
  });
}

void Undrain(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kUndrain;
  ShowAnswers(arguments, AskDaemons(arguments), [](const ControlAnswer& answer) {
    return StrCat(
        answer.host, ": ",
        ValueOr(answer.answer, "changed", false) ? "takes new jobs again" : "was not drained",
        "\n");
  });
}

}  // namespace

void AddDrain(CLI::App& server) {
  auto drain = std::make_shared<ControlArguments>();
  CLI::App* const verb = AddControlVerb(
      server, "drain", "Refuse new jobs, while those that run go on", kDrainExamples, drain);
  AddReason(*verb, *drain);
  verb->add_option("--wait", drain->order.wait,
                   "Seconds to wait until no job is attached (default: return at once)")
      ->check(CLI::Range(0.0, 1e9, "NONNEGATIVE"));
  verb->callback([drain] { Drain(*drain); });
  auto undrain = std::make_shared<ControlArguments>();
  AddControlVerb(server, "undrain", "Take new jobs again", kDrainExamples, undrain)
      ->callback([undrain] { Undrain(*undrain); });
}

}  // namespace graphd::ctl
