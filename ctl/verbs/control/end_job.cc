// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/control/ask.h"

namespace graphd::ctl {
namespace {

constexpr const char* kEndJobExamples = R"(
The servers close the job's connections, refuse its processes for two minutes with an error that
says who has ended it, and drop its tensors. No signal is sent: `graphctl stop` ends the processes of
a job that graphctl launch has started. This is for jobs whose processes can't be reached.
Without --ip_config, all daemons of this machine with the server's name are asked.

Examples:
  graphctl server end_job 1120-130501-4711 --server_name products --ip_config ip_config.txt
  graphctl server end_job night-run --reason "it holds the lease of emb"
)";

void EndJob(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kEndJob;
  std::vector<ControlAnswer> answers = AskDaemons(arguments);
  // A daemon that does not know the job is no failure if another one does, because a job need not
  // have attached to every daemon.
  if (std::any_of(answers.begin(), answers.end(), [](const auto& each) { return each.ok; })) {
    for (ControlAnswer& answer : answers) {
      if (answer.ok || answer.code != ErrorCode::kNotFound) continue;
      answer.ok = true;
      answer.answer = {{"job", arguments.order.job}, {"connections", 0}};
    }
  }
  ShowAnswers(arguments, answers, [&](const ControlAnswer& answer) {
    const auto connections = ValueOr(answer.answer, "connections", int64_t{0});
    return StrCat(answer.host, ": ended job ", arguments.order.job, ", which had ", connections,
                  connections == 1 ? " connection\n" : " connections\n");
  });
}

}  // namespace

void AddEndJob(CLI::App& server) {
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* const verb = AddControlVerb(server, "end_job", "End a job by closing its connections",
                                        kEndJobExamples, arguments);
  verb->add_option("job", arguments->order.job, "The job's id, as graphctl ps shows it")
      ->required();
  AddReason(*verb, *arguments);
  verb->callback([arguments] { EndJob(*arguments); });
}

}  // namespace graphd::ctl
