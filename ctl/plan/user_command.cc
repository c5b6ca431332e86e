// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/user_command.h"

#include <cctype>

namespace graphd::ctl {
namespace {

bool IsOption(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

}  // namespace

bool IsAssignment(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos || equals == 0) return false;
  if (std::isdigit(static_cast<unsigned char>(word[0]))) return false;
  for (size_t i = 0; i < equals; i++) {
    if (!std::isalnum(static_cast<unsigned char>(word[i])) && word[i] != '_') return false;
  }
  return true;
}

SplitArguments SplitCommandLine(
    const std::vector<std::string>& arguments,
    const std::function<std::optional<OptionKind>(const std::string&)>& kind_of) {
  SplitArguments split;
  size_t i = 0;
  bool after_marker = false;
  while (i < arguments.size()) {
    const std::string& word = arguments[i];
    if (word == "--") {
      after_marker = true;
      i++;
      break;
    }
    if (!IsOption(word)) break;
    i++;
    const size_t equals = word.find('=');
    const auto kind = kind_of(word.substr(0, equals));
    if (kind == OptionKind::kAssignments && equals == std::string::npos) {
      const size_t first = i;
      while (i < arguments.size() && IsAssignment(arguments[i])) {
        split.options.push_back(word);
        split.options.push_back(arguments[i++]);
      }
      if (i == first) split.options.push_back(word);  // the parser reports the missing value
      continue;
    }
    split.options.push_back(word);
    if (kind == OptionKind::kOneValue && equals == std::string::npos && i < arguments.size()) {
      split.options.push_back(arguments[i++]);
    }
  }
  split.command.words.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  split.command.is_shell = !after_marker && split.command.words.size() == 1;
  return split;
}

std::string ShellQuote(const std::string& text) {
  bool plain = !text.empty();
  for (char c : text) {
    plain = plain && (std::isalnum(static_cast<unsigned char>(c)) ||
                      std::string_view("_-./:=,@%+").find(c) != std::string_view::npos);
  }
  if (plain) return text;
  std::string quoted = "'";
  for (char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string DisplayCommand(const UserCommand& command) {
  if (command.is_shell) return command.words[0];
  std::string text;
  for (const std::string& word : command.words) {
    if (!text.empty()) text += ' ';
    text += ShellQuote(word);
  }
  return text;
}

}  // namespace graphd::ctl
