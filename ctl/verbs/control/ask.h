// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ctl/verbs/host_options.h"

// Functions that the verbs for operators share. They send the same request to all daemons of a
// server.

namespace graphd::ctl {

struct ControlArguments {
  HostOptions hosts;
  ControlOrder order;
  bool json = false;
};

// The answer of one daemon.
struct ControlAnswer {
  std::string host;  // address and port
  bool ok = false;
  ErrorCode code = ErrorCode::kUnavailable;
  std::string error;      // set if not ok
  nlohmann::json answer;  // the object that CarryOutControl returns; empty if not ok
};

// Adds a verb with the options that select the daemons, and --json.
CLI::App* AddControlVerb(CLI::App& verb, const std::string& name, const std::string& help,
                         const char* examples, const std::shared_ptr<ControlArguments>& arguments);
// Adds --reason.
void AddReason(CLI::App& action, ControlArguments& arguments);

// Sends arguments.order to the daemons of the ip_config file or, without such a file, to all
// daemons of this machine that have the server's name. Throws Error(kUnavailable) if there are
// none.
std::vector<ControlAnswer> AskDaemons(
    ControlArguments& arguments,
    const std::function<void(size_t host, const nlohmann::json& frame)>& on_progress = nullptr);

// Prints the answers: as JSON, or as the texts that `show` returns. The first failure determines
// graphctl's exit code.
void ShowAnswers(const ControlArguments& arguments, const std::vector<ControlAnswer>& answers,
                 const std::function<std::string(const ControlAnswer&)>& show);

// Adds the verbs below `graphctl server`.
void AddDrain(CLI::App& server);
void AddEndJob(CLI::App& server);
void AddLogLevel(CLI::App& server);
void AddReload(CLI::App& server);
void AddServerLogs(CLI::App& server);
void AddSwitch(CLI::App& server);

}  // namespace graphd::ctl
