// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace graphd::store {

// Copies memory that a keeper has under `name` to a directory in the tmpfs `parent`, and lets the
// store's directory name the copy, which the next process takes. For an end after which the keeper
// frees what it has, although rows may be nowhere else. Nothing uses the memory meanwhile. Returns
// the path of the copy; an empty text if no store needs the memory. Throws Error: kOverloaded if
// the tmpfs is full, kIo; then the memory is named as before.
std::string CopyToNamedMemory(const std::string& name, int fd, const std::string& parent);

}  // namespace graphd::store
