// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/file.h"

// The directory on a machine into which a copy writes, and out of which it never leads: paths are
// followed name by name, no symbolic link is followed. One copy at a time has it. Not thread-safe.

namespace graphd::ctl {

class Workspace {
 public:
  // Makes the directory if there is none. Waits until other copies into it have ended; throws
  // Error(kExists) if that takes longer than `seconds`.
  Workspace(const std::string& path, double seconds);

  const std::string& path() const noexcept { return path_; }
  int fd() const noexcept { return root_.get(); }

  // A file's place: the directory that holds it, and its name there.
  struct Place {
    UniqueFd directory;  // none: it does not exist
    std::string name;
    std::string shown;  // the whole path, for messages
  };
  // Throws Error(kInvalid) for a path that leads out, Error(kDenied) if a symbolic link is on the
  // way, Error(kExists) if something that is no directory is.
  Place Find(const std::string& target, bool make_directories);

  // Bytes that the file system in which `target` lies can still take.
  struct Room {
    uint64_t device = 0, free_bytes = 0;
  };
  Room RoomFor(const std::string& target);

 private:
  void Lock(double seconds);

  std::string path_;
  UniqueFd root_;
  std::vector<std::string> steps_;  // that led to last_, kept for the next file beside
  UniqueFd last_;
};

// What is at a Place: nothing, or a regular file. Throws Error(kDenied) for a symbolic link,
// Error(kExists) for anything else.
std::optional<struct stat> StatFile(const Workspace::Place& place, const std::string& name);

}  // namespace graphd::ctl
