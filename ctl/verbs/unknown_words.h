// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace graphd::ctl {

// Throws Error(kInvalid) with a suggestion at the first word that is not a verb or option of `app`.
// Must be called before parsing: otherwise CLI11 would report a required option as missing, and not
// the typing error in its name.
void RefuseUnknownWords(const CLI::App& app, const std::vector<std::string>& arguments);

}  // namespace graphd::ctl
