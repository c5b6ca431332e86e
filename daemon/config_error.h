// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>

namespace graphd {

// Returns what is wrong with the options, for an error of CLI::App::parse: with the file and the
// line, if a configuration file has the option, and with the most similar name, if it is unknown.
std::string ExplainParseError(const CLI::App& app, const CLI::ParseError& error);

// Returns "FILE:LINE: " if this configuration file sets the option, else an empty text.
std::string PlaceOf(const std::string& config, const std::string& option);

}  // namespace graphd
