// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <string>

#include "store/rows/memory_dir.h"

namespace graphd::store {

// Copies memory that a keeper has under `name` to a directory in the tmpfs `parent`, where the next
// process finds it by its number. For an end after which the keeper frees what it has, although
// rows may be nowhere else: so it writes nothing to the store's directory, whose disk may be full.
// Nothing uses the memory meanwhile. Calls `progress` at the beginning, and after each part of some
// hundred MB. Returns the path of the copy; an empty text if no store needs the memory. Throws
// Error: kOverloaded if the tmpfs is full, kIo, and what MemoryName::IsNeeded throws; then there is
// no copy.
std::string CopyToNamedMemory(
    const std::string& name, int fd, const std::string& parent,
    const std::function<void()>& progress = [] {});

// Returns whether rows may be nowhere but in the memory of a descriptor that a keeper has passed
// under `name`. Throws what MemoryName::IsNeeded throws if that can't be told.
bool IsMemoryNeeded(const std::string& name, int fd);

// Returns the path of the copy of memory with this number.
std::string PathOfCopy(const std::string& nonce, const std::string& parent = kDefaultMemoryDir);
// Returns whether there is a directory of this user.
bool HasCopy(const std::string& path);

// Returns why a descriptor that a keeper has passed is of no use to any store, or an empty text if
// a store's directory names it or that can't be told, which is logged. `name` is the descriptor's
// name.
std::string WhyUseless(const std::string& name, int fd);

}  // namespace graphd::store
