// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>

#include "ctl/plan/user_command.h"

// The subcommands of graphctl. Each Add function lives in ctl/<verb>.cc, adds its subcommand with
// its options, help and examples to `app`, and sets a callback that does the work. Callbacks throw
// graphd::Error; main turns it into a message and an exit code, or call SetExitCode for a job's.

namespace graphd::ctl {

// "--num_parts,--num-parts": DGL's name with underscores and the same with dashes.
std::string Flags(const std::string& name_with_underscores);

// The exit code of graphctl when the callback returns; 0 at first.
void SetExitCode(int code);

// `command`: what main finds after the options of `launch` (SplitLaunchArguments) when the callback
// runs.
void AddLaunch(CLI::App& app, const UserCommand& command);
void AddCheckpoint(CLI::App& app);
void AddConvert(CLI::App& app);
void AddCopy(CLI::App& app);
void AddInspect(CLI::App& app);
void AddPartition(CLI::App& app);
void AddPs(CLI::App& app);
void AddReceive(CLI::App& app);
void AddStop(CLI::App& app);
void AddServer(CLI::App& app);
void AddSupervise(CLI::App& app);
void AddTop(CLI::App& app);
void AddVerify(CLI::App& app);

// Takes the user's command off a `graphctl launch` line, by the options that `launch` declares.
SplitArguments SplitLaunchArguments(const CLI::App& launch,
                                    const std::vector<std::string>& arguments);

}  // namespace graphd::ctl
