// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>

#include "ctl/plan/user_command.h"
#include "ctl/verbs/flags.h"  // all verbs use it

// The subcommands of graphctl. Each Add function is defined in ctl/verbs/<verb>.cc, adds its
// subcommand with options, help and examples to `app`, and sets a callback that does the work. A
// callback throws graphd::Error, which main turns into a message and an exit code, or calls
// SetExitCode for the exit code of a job.

namespace graphd::ctl {

// Sets the exit code that graphctl has if the callback returns without an Error; the default is 0.
void SetExitCode(int code);

// `command`: the user's command. It is read when the callback runs; main must set it before that,
// by SplitLaunchArguments.
void AddLaunch(CLI::App& app, const UserCommand& command);
void AddAttach(CLI::App& app);
void AddCheckpoint(CLI::App& app);
void AddConfig(CLI::App& app);
void AddConvert(CLI::App& app);
void AddCopy(CLI::App& app);
void AddDebug(CLI::App& app);
void AddDoctor(CLI::App& app);
void AddInspect(CLI::App& app);
void AddKeys(CLI::App& app);
void AddLogs(CLI::App& app);
void AddPartition(CLI::App& app);
void AddPlan(CLI::App& app);
void AddPs(CLI::App& app);
void AddReceive(CLI::App& app);
void AddRestart(CLI::App& app);
void AddStop(CLI::App& app);
void AddServer(CLI::App& app);
// Adds the verbs for operators below the verb `server`, which must already have been added.
void AddServerControl(CLI::App& app);
void AddStatus(CLI::App& app);
void AddSupervise(CLI::App& app);
void AddTensors(CLI::App& app);
void AddTop(CLI::App& app);
void AddVerify(CLI::App& app);
void AddWait(CLI::App& app);

// Separates the user's command from the options of `graphctl launch`. `launch` is the subcommand
// that declares these options.
SplitArguments SplitLaunchArguments(const CLI::App& launch,
                                    const std::vector<std::string>& arguments);

}  // namespace graphd::ctl
