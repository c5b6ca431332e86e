// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>

// The subcommands of graphctl. Each Add function lives in ctl/<verb>.cc, adds its subcommand with
// its options, help and examples to `app`, and sets a callback that does the work. Callbacks throw
// graphd::Error; main turns it into a message and an exit code, or call SetExitCode for a job's.

namespace graphd::ctl {

// "--num_parts,--num-parts": DGL's name with underscores and the same with dashes.
std::string Flags(const std::string& name_with_underscores);

// The exit code of graphctl when the callback returns; 0 at first.
void SetExitCode(int code);

void AddInspect(CLI::App& app);
void AddPartition(CLI::App& app);
void AddVerify(CLI::App& app);

}  // namespace graphd::ctl
