// SPDX-License-Identifier: Apache-2.0
#include "store/memory_name.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

// The layout of the memory, and of the file `memory` if that has a path. Daemons that do not know
// memory without a path must refuse it, and not take it for removed: hence another version.
constexpr const char* kVersion = "graphd-memory 1";
constexpr const char* kKeptVersion = "graphd-memory 2";
constexpr size_t kMaxText = 65536;
constexpr size_t kNonceDigits = 32;
// A folder of the service manager, in a tmpfs that ends with it.
constexpr const char* kRun = "/run";

// Returns a text that differs between this tmpfs and another one that is mounted in its place, or
// after a restart of the machine.
std::string TmpfsOf(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) ThrowErrno("can't examine", path);
  uint64_t id = 0;
  static_assert(sizeof id == sizeof status.f_fsid);
  std::memcpy(&id, &status.f_fsid, sizeof id);
  // Procfs files have no size.
  std::string boot(64, '\0');
  const UniqueFd fd = OpenFile("/proc/sys/kernel/random/boot_id", O_RDONLY);
  const ssize_t got = ::read(fd.get(), boot.data(), boot.size());
  boot.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return StrCat(Trim(boot), "-", id);
}

std::string Encode(const MemoryName& name) {
  return StrCat(name.is_kept ? kKeptVersion : kVersion, "\n", name.place, "\n", name.nonce, "\n",
                name.tmpfs);
}

std::optional<MemoryName> Decode(const std::vector<std::string>& lines) {
  if (lines.size() < 4 || (lines[0] != kVersion && lines[0] != kKeptVersion)) return {};
  MemoryName name;
  name.is_kept = lines[0] == kKeptVersion;
  name.place = lines[1];
  name.nonce = lines[2];
  name.tmpfs = lines[3];
  return name;
}

std::optional<MemoryOwner> DecodeOwner(const std::string& text) {
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? text.npos : text.find('\n', first + 1);
  if (second == text.npos) return {};
  return MemoryOwner{text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

}  // namespace

std::string MemoryName::PathIn(const std::string& store_directory) {
  return store_directory + "/memory";
}

std::string MemoryName::SavedPathIn(const std::string& store_directory) {
  return store_directory + "/memory-saved";
}

MemoryName MemoryName::Make(bool is_kept, const std::string& directory, const std::string& nonce) {
  MemoryName name;
  name.is_kept = is_kept;
  name.place = is_kept ? kKeptPrefix + nonce : directory;
  name.nonce = nonce;
  name.tmpfs = TmpfsOf(is_kept ? kRun : directory);
  return name;
}

std::optional<MemoryName> MemoryName::Read(const std::string& path) {
  const std::vector<std::string> lines = Split(ReadTextFile(path, kMaxText), '\n');
  return lines.size() == 4 ? Decode(lines) : std::nullopt;
}

std::optional<MemoryName> MemoryName::ReadSaved(const std::string& store_directory) {
  const std::string path = SavedPathIn(store_directory);
  if (!FileExists(path)) return {};
  const std::vector<std::string> lines = Split(ReadTextFile(path, kMaxText), '\n');
  std::optional<MemoryName> name = lines.size() == 6 ? Decode(lines) : std::nullopt;
  if (!name) return {};
  try {
    name->lsn = static_cast<uint64_t>(ParseInt(lines[4], "sequence number", 0));
    name->next_id = static_cast<uint64_t>(ParseInt(lines[5], "number of a table", 0));
  } catch (const Error&) {
    return {};
  }
  return name;
}

void MemoryName::Write(const std::string& store_directory) const {
  WriteFileAtomically(PathIn(store_directory), Encode(*this));
}

void MemoryName::WriteSaved(const std::string& store_directory, const StoreState& stored) const {
  WriteFileAtomically(SavedPathIn(store_directory),
                      StrCat(Encode(*this), "\n", stored.lsn, "\n", stored.next_id));
}

bool MemoryName::IsNeeded(const std::string& store_directory, const std::string& place) {
  const std::string path = PathIn(store_directory), pages = store_directory + "/pages";
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    const std::optional<MemoryName> name = Read(path);
    if (!name) {
      Throw(ErrorCode::kVersion, path, " is damaged, or was written by another version of graphd; ",
            "remove it if its rows are as of the last write-back anyway");
    }
    return name->is_kept && name->place == place;
  }
  if (errno != ENOENT) ThrowErrno("can't examine", path);
  if (::stat(pages.c_str(), &info) != 0) {
    ThrowErrno("can't find out whether rows are on the disk (is the directory mounted?):", pages);
  }
  return false;
}

bool MemoryName::IsOfThisTime() const {
  const std::string parent = is_kept ? kRun : DirName(place);
  return FileExists(parent) && TmpfsOf(parent) == tmpfs;
}

std::optional<MemoryOwner> MemoryOwner::Read(const std::string& directory) {
  const std::string text = ReadOwnText(PathIn(directory));
  return text.starts_with(StrCat(kVersion, "\n")) ? DecodeOwner(text) : std::nullopt;
}

std::optional<MemoryOwner> MemoryOwner::ReadAnyVersion(const std::string& directory) {
  return DecodeOwner(ReadOwnText(PathIn(directory)));
}

std::string PathOfDescriptor(int fd) { return StrCat("/proc/", ::getpid(), "/fd/", fd, "/."); }

void MemoryOwner::Write(const std::string& directory) const {
  WriteFileAtomically(PathIn(directory),
                      StrCat(kVersion, "\n", nonce, "\n", CanonicalPath(store_directory)));
}

std::string MemoryNonce() {
  uint64_t numbers[2];
  if (::getrandom(numbers, sizeof numbers, 0) != sizeof numbers) {
    ThrowErrno("can't draw a number for", "the memory of tables");
  }
  char text[kNonceDigits + 1];
  std::snprintf(text, sizeof text, "%016lx%016lx", numbers[0], numbers[1]);
  return text;
}

std::string ReadOwnText(const std::string& path) {
  OpenOwnFile(path, O_RDONLY);
  return ReadTextFile(path, kMaxText);
}

}  // namespace graphd::store
