// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

// Functions for directories, and for opening files and directories that only this process's user
// can change. Like the functions of base/file.h, they throw Error, never
// std::filesystem::filesystem_error.

namespace graphd {

// Returns the directory in which a daemon stores tensors by default: $GRAPHD_STATE_DIR if it is
// set, /var/lib/graphd if this process is root's or may write there, and otherwise a directory
// below the user's XDG state directory. Throws Error(kInvalid) if XDG_STATE_HOME is not set and
// HOME is not an absolute path, because a directory below /tmp could belong to somebody else.
std::string DefaultStateDir();

// Returns the names in a directory, sorted, without "." and "..".
std::vector<std::string> ListDirectory(const std::string& path);
// Returns the same names, but those that precede an error if the directory can't be read to its
// end, and no names if there is no such directory.
std::vector<std::string> ListReadable(const std::string& path);
// Returns the paths of all regular files below a directory, sorted.
std::vector<std::string> ListFilesBelow(const std::string& path);
void RenameFile(const std::string& from, const std::string& to);
// Removes a file; it is not an error if there is none.
void RemoveFile(const std::string& path);
// Removes a directory with everything below it, or a file. Follows no link.
void RemoveTree(const std::string& path);
// Returns the absolute path without "." and "..". The path need not exist.
std::string AbsolutePath(const std::string& path);
// Returns the absolute path without links. The file must exist.
std::string CanonicalPath(const std::string& path);

// Opens a regular file, or a directory, that only this process's user can change: the last name of
// the path is not a symbolic link, the user owns the file, and others may not write it. Throws
// Error(kDenied) that says which of these is wrong.
UniqueFd OpenOwnFile(const std::string& path, int flags, unsigned mode = 0600);
UniqueFd OpenOwnDirectory(const std::string& path);

// Returns what has happened to a file or a directory that this process has open as `fd` and expects
// at `path`: it was removed or replaced, or its size differs from `bytes`. Returns an empty text if
// it is as expected.
std::string WhatHappenedTo(int fd, const std::string& path, std::optional<uint64_t> bytes = {});

}  // namespace graphd
