// SPDX-License-Identifier: Apache-2.0
#include "store/memory_name.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/strings.h"

namespace graphd::store {
namespace {

// The version of the memory's layout, and of the format of the files that MemoryName and
// MemoryOwner describe.
constexpr const char* kVersion = "graphd-memory 1";
constexpr size_t kMaxText = 65536;
constexpr size_t kNonceDigits = 32;

// Returns a text that differs between this tmpfs and another one that is mounted in its place, or
// after a restart of the machine.
std::string TmpfsOf(const std::string& path) {
  struct statfs status {};
  if (::statfs(path.c_str(), &status) != 0) ThrowErrno("can't examine", path);
  uint64_t id = 0;
  static_assert(sizeof id == sizeof status.f_fsid);
  std::memcpy(&id, &status.f_fsid, sizeof id);
  // This file is read directly, because the files of procfs report no size.
  std::string boot(64, '\0');
  const UniqueFd fd = OpenFile("/proc/sys/kernel/random/boot_id", O_RDONLY);
  const ssize_t got = ::read(fd.get(), boot.data(), boot.size());
  boot.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return StrCat(Trim(boot), "-", id);
}

std::string Encode(const MemoryName& name) {
  return StrCat(kVersion, "\n", name.directory, "\n", name.nonce, "\n", name.tmpfs);
}

std::optional<MemoryName> Decode(const std::vector<std::string>& lines) {
  if (lines.size() < 4 || lines[0] != kVersion) return {};
  MemoryName name;
  name.directory = lines[1];
  name.nonce = lines[2];
  name.tmpfs = lines[3];
  return name;
}

}  // namespace

std::string MemoryName::PathIn(const std::string& store_directory) {
  return store_directory + "/memory";
}

std::string MemoryName::SavedPathIn(const std::string& store_directory) {
  return store_directory + "/memory-saved";
}

MemoryName MemoryName::Make(const std::string& directory, const std::string& nonce) {
  MemoryName name;
  name.directory = directory;
  name.nonce = nonce;
  name.tmpfs = TmpfsOf(directory);
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

bool MemoryName::IsOfThisTime() const {
  const std::string parent = DirName(directory);
  return FileExists(parent) && TmpfsOf(parent) == tmpfs;
}

std::optional<MemoryOwner> MemoryOwner::Read(const std::string& directory) {
  const std::string text = ReadOwnText(PathIn(directory));
  const size_t first = text.find('\n');
  const size_t second = first == text.npos ? text.npos : text.find('\n', first + 1);
  if (second == text.npos || text.substr(0, first) != kVersion) return {};
  return MemoryOwner{text.substr(first + 1, second - first - 1), text.substr(second + 1)};
}

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

std::string ReadOwnText(const std::string& path, size_t max_bytes) {
  OpenOwnFile(path, O_RDONLY);
  return ReadTextFile(path, max_bytes);
}

}  // namespace graphd::store
