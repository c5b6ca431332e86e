// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/control/ask.h"

namespace graphd::ctl {
namespace {

constexpr const char* kLogLevelExamples = R"(
The level lasts until the next `graphctl server reload` or start, which take that of the
configuration. Without --ip_config, all daemons of this machine with the server's name are asked.

Examples:
  graphctl server log_level debug --server_name products
  graphctl server log_level info --server_name products --ip_config ip_config.txt
)";

void SetLevel(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kLogLevel;
  ShowAnswers(arguments, AskDaemons(arguments), [&](const ControlAnswer& answer) {
    return StrCat(answer.host, ": logs at level ", arguments.order.level, ", was ",
                  ValueOr(answer.answer, "before", "?"), "\n");
  });
}

}  // namespace

void AddLogLevel(CLI::App& server) {
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* const verb =
      AddControlVerb(server, "log_level", "Set the level of the daemons' logs while they run",
                     kLogLevelExamples, arguments);
  verb->add_option("level", arguments->order.level, "debug, info, warning or error")
      ->required()
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  verb->callback([arguments] { SetLevel(*arguments); });
}

}  // namespace graphd::ctl
