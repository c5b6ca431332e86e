// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <memory>

#include "base/strings.h"
#include "ctl/plan/json_value.h"
#include "ctl/verbs/control/ask.h"
#include "ctl/verbs/verbs.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr const char* kRequestsExamples = R"(
Shows what trainers wait for: each request that a daemon has not answered yet, the oldest first, with
its age, its operation, its trainer, and what it waits for, such as a thread, an index that is built,
the store, or other trainers. Reads by mapped memory are no requests.
Without --ip_config, all daemons of this machine with the server's name are asked.

Examples:
  graphctl debug requests --server_name products --ip_config ip_config.txt
  graphctl debug requests --limit 1000 --json
)";

std::string RequestLine(const json& request) {
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%10.3f s  ", ValueOr(request, "seconds", 0.0));
  const auto rank = ValueOr(request, "rank", int64_t{0});
  const auto pid = ValueOr(request, "pid", int64_t{0});
  return StrCat(
      seconds,
      Printable(StrCat(ValueOr(request, "operation", "?"), " of job ", ValueOr(request, "job", "?"),
                       ", ", rank < 0 ? "its launcher" : StrCat("trainer ", rank), ", ",
                       pid > 0 ? StrCat("pid ", pid) : ValueOr(request, "peer", "?"), ": ",
                       ValueOr(request, "state", "?"))),
      "\n");
}

void ShowRequests(ControlArguments& arguments) {
  arguments.order.verb = ControlVerb::kRequests;
  ShowAnswers(arguments, AskDaemons(arguments), [](const ControlAnswer& answer) {
    const json requests = ValueOr(answer.answer, "requests", json::array());
    const auto total = ValueOr(answer.answer, "total", uint64_t{0});
    std::string text =
        StrCat(answer.host, ": ", total, total == 1 ? " request" : " requests", " in flight");
    if (requests.size() < total) text += StrCat(", of which the oldest ", requests.size());
    text += "\n";
    for (const json& request : requests) text += RequestLine(request);
    return text;
  });
}

}  // namespace

void AddDebug(CLI::App& app) {
  CLI::App* const debug = app.add_subcommand("debug", "Look into servers that run");
  debug->require_subcommand(1);
  auto arguments = std::make_shared<ControlArguments>();
  CLI::App* const verb =
      AddControlVerb(*debug, "requests", "Show requests in flight, and what each waits for",
                     kRequestsExamples, arguments);
  verb->add_option("--limit", arguments->order.most, "Requests to show of each daemon")
      ->check(CLI::Range(1, 2000))
      ->capture_default_str();
  verb->callback([arguments] { ShowRequests(*arguments); });
}

}  // namespace graphd::ctl
