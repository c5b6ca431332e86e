// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/control/ask.h"

namespace graphd::ctl {
namespace {

constexpr const char* kReloadExamples = R"(
The daemons read their configuration files again. They apply who may do what (allow_read,
allow_write, allow_operate, weight), limits (max_connections, peer_memory, index_memory,
write_timeout, hang_timeout), metrics_peers, log_level and log_file, which is opened again; other
keys that differ are named, because they need a restart. A mistake in a file is reported with its
line and key, and changes nothing at that daemon. SIGHUP and `systemctl reload` do the same, and
report to the log.
Without --ip_config, all daemons of this machine with the server's name are asked.

Examples:
  graphctl server reload --server_name products
  graphctl server reload --server_name products --ip_config ip_config.txt --json
)";

std::string Quoted(const std::string& value) {
  return value.empty() ? "nothing" : StrCat("'", value, "'");
}

std::string ToText(const ControlAnswer& answer) {
  const nlohmann::json changes = ValueOr(answer.answer, "changes", nlohmann::json::array());
  if (changes.empty()) return StrCat(answer.host, ": reloaded; nothing differs\n");
  std::string text = StrCat(answer.host, ": reloaded\n");
  for (const nlohmann::json& change : changes) {
    const std::string place = ValueOr(change, "place", "");
    text += StrCat("  ", ValueOr(change, "key", "?"), ": ", Quoted(ValueOr(change, "after", "")),
                   ", was ", Quoted(ValueOr(change, "before", "")),
                   place.empty() ? "" : StrCat(" (", place, ")"),
                   ValueOr(change, "needs_restart", false) ? "; NEEDS A RESTART\n" : "\n");
  }
  return text;
}

void Reload(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kReload;
  ShowAnswers(arguments, AskDaemons(arguments), ToText);
}

}  // namespace

void AddReload(CLI::App& server) {
  auto arguments = std::make_shared<ControlArguments>();
  AddControlVerb(server, "reload", "Read the configuration files again", kReloadExamples, arguments)
      ->callback([arguments] { Reload(*arguments); });
}

}  // namespace graphd::ctl
