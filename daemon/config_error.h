// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace graphd {

// Returns a text that explains an error of CLI::App::parse. It names the file and the line if a
// configuration file sets the option, and the most similar option if the option is unknown.
std::string ExplainParseError(const CLI::App& app, const CLI::ParseError& error);

// Returns "FILE:LINE: " if this configuration file sets the option, else an empty text.
std::string PlaceOf(const std::string& config, const std::string& option);

}  // namespace graphd
