// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

// The directory on a machine into which a copy writes. A copy never leaves it: paths are followed
// name by name, and no symbolic link is followed. Only one copy at a time can use it. Not
// thread-safe.

namespace graphd::ctl {

class Workspace {
 public:
  // Creates the directory if it does not exist. Waits until other copies into it have ended; throws
  // Error(kExists) if that takes longer than `seconds`.
  Workspace(const std::string& path, double seconds);

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return root_.get(); }

  // The location of a file: the directory that contains it and its name there.
  struct Place {
    UniqueFd directory;  // empty if the directory does not exist
    std::string name;
    std::string shown;  // the full path, for messages
  };
  // Returns the place of the file with this path. Throws Error(kInvalid) for a path that leaves the
  // workspace, Error(kDenied) if a component is a symbolic link, and Error(kExists) if a component
  // is not a directory.
  Place Find(const std::string& target, bool make_directories);

  // The free space of the file system that contains `target`.
  struct Room {
    uint64_t device = 0, free_bytes = 0;
  };
  Room RoomFor(const std::string& target);

 private:
  void Lock(double seconds);

  std::string path_;
  UniqueFd root_;
  std::vector<std::string> steps_;  // the path of last_, which stays open for the next file in the
                                    // same directory
  UniqueFd last_;
};

// Returns the status of a file at a Place, or nothing if it does not exist. Throws Error(kDenied)
// for a symbolic link, Error(kExists) for anything else that is not a regular file.
std::optional<struct stat> StatFile(const Workspace::Place& place, const std::string& name);

}  // namespace graphd::ctl
