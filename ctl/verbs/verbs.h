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

// Sets graphctl's exit code for when the callback returns; the default is 0.
void SetExitCode(int code);

// `command`: the words that main finds after the options of `launch` (SplitLaunchArguments); read
// when the callback runs.
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
// Adds the verbs of operators to the verb `server`, which must exist.
void AddServerControl(CLI::App& app);
void AddStatus(CLI::App& app);
void AddSupervise(CLI::App& app);
void AddTensors(CLI::App& app);
void AddTop(CLI::App& app);
void AddVerify(CLI::App& app);
void AddWait(CLI::App& app);

// Separates the user's command from the options of `graphctl launch`, as declared by `launch`.
SplitArguments SplitLaunchArguments(const CLI::App& launch,
                                    const std::vector<std::string>& arguments);

}  // namespace graphd::ctl
