// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Where `graphctl launch`'s own options end and the user's command begins, and how text is quoted
// for a shell. Pure functions.

namespace graphd::ctl {

// The user's command. One word on the command line is a shell's program, given to /bin/sh -c
// exactly as it is; several words, or words after "--", are an argument vector.
struct UserCommand {
  std::vector<std::string> words;  // empty: none was given
  bool is_shell = false;           // words has one element, a program for /bin/sh
};

struct SplitArguments {
  std::vector<std::string> options;  // what graphctl itself reads
  UserCommand command;
};

// How many values an option takes.
enum class OptionKind { kFlag, kOneValue, kAssignments };

// Splits the words after `launch`. `kind_of` knows the options by their first word ("--ip_config");
// std::nullopt for unknown ones, which are left among the options for their reader to reject. The
// command begins at the first word that no option takes, or after "--". An option of kAssignments
// takes all NAME=VALUE words that follow; the first other word begins the command. Each assignment
// is handed on as an option of its own ("--extra_envs A=b --extra_envs C=d").
SplitArguments SplitCommandLine(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<OptionKind>(const std::string&)>& kind_of);

// Whether `word` is NAME=VALUE with a name that an environment variable can have.
bool IsAssignment(const std::string& word);

// `text` as one word of a POSIX shell; left bare if it needs no quotes.
std::string ShellQuote(const std::string& text);
// The command as one can type it into a shell; for messages and `graphctl ps`.
std::string DisplayCommand(const UserCommand& command);

}  // namespace graphd::ctl
