// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

// Functions that separate the options of `graphctl launch` from the user's command, and that quote
// text for a shell. They have no side effects.

namespace graphd::ctl {

// The user's command. A single word on the command line is a shell program, passed unchanged to
// /bin/sh -c; several words, or words after "--", are an argument vector.
struct UserCommand {
  std::vector<std::string> words;  // empty: no command was given
  bool is_shell = false;           // `words` has one element, a program for /bin/sh
};

struct SplitArguments {
  std::vector<std::string> options;  // the words that graphctl itself parses
  UserCommand command;
};

// The number of values that an option takes.
enum class OptionKind { kFlag, kOneValue, kAssignments };

// Splits the words after `launch` into graphctl's options and the user's command. `kind_of` returns
// the kind of the option with a name ("--ip_config"), or std::nullopt if there is no such option.
// Unknown options remain in `options`, so that the parser rejects them. The command begins at the
// first word that is neither an option nor the value of one, or after "--". An option of kind
// kAssignments takes all following NAME=VALUE words; the first other word begins the command. Each
// assignment becomes an option of its own ("--extra_envs A=b --extra_envs C=d").
SplitArguments SplitCommandLine(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<OptionKind>(const std::string&)>& kind_of);

// Returns whether `word` is NAME=VALUE with a valid name of an environment variable.
bool IsAssignment(const std::string& word);

// Quotes `text` as one word of a POSIX shell; returns it unchanged if it needs no quotes.
std::string ShellQuote(const std::string& text);
// Returns the command as it can be typed into a shell, for messages and `graphctl ps`.
std::string DisplayCommand(const UserCommand& command);

}  // namespace graphd::ctl
