// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "base/file.h"
#include "base/strings.h"
#include "tests/unit/format/scratch_directory.h"

namespace graphd::testing {

// A file system of a few MiB, which a test fills.
class SmallDisk {
 public:
  explicit SmallDisk(int mebibytes) {
    const std::string options = StrCat("size=", mebibytes, "m");
    if (::mount("tmpfs", place_.path().c_str(), "tmpfs", 0, options.c_str()) != 0) {
      throw std::runtime_error("can't mount a tmpfs; tests run as root");
    }
  }
  ~SmallDisk() { ::umount2(place_.path().c_str(), MNT_DETACH); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  operator const ScratchDirectory&() const { return place_; }
  std::string operator/(const std::string& name) const { return place_ / name; }

  uint64_t available() const {
    struct statvfs info {};
    if (::statvfs(place_.path().c_str(), &info) != 0) {
      throw std::runtime_error("can't examine a tmpfs");
    }
    return info.f_bavail * info.f_frsize;
  }
  // Takes all space but these bytes.
  void Fill(uint64_t room = 0) const {
    const UniqueFd file = OpenFile(place_ / "filler", O_CREAT | O_WRONLY, 0600);
    const uint64_t before = available();
    if (before > room && ::posix_fallocate(file.get(), 0, static_cast<off_t>(before - room)) != 0) {
      throw std::runtime_error("can't fill a tmpfs");
    }
  }
  void MakeRoom() const { std::filesystem::remove(place_ / "filler"); }

 private:
  const ScratchDirectory place_;
};

}  // namespace graphd::testing
