// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graphd::ctl {

// Throws Error(kInvalid), with a suggestion, for the first word that should be a verb or an option
// of `app` and is none. Must be called before the words are parsed. Otherwise, if the name of a
// required option is misspelt, CLI11 would report that the option is missing.
void RefuseUnknownWords(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace graphd::ctl
