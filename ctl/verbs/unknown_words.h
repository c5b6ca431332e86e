// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graphd::ctl {

// Throws Error(kInvalid), naming what was meant perhaps, on the first word that is no verb or
// option of `app`. Before parsing, which would rather complain of what is missing because of the
// slip.
void RefuseUnknownWords(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace graphd::ctl
