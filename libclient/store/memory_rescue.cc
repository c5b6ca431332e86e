// SPDX-License-Identifier: Apache-2.0
#include "store/memory_rescue.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <vector>

#include "base/directory.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "store/memory_name.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{1} << 20;
constexpr uint64_t kProgressBytes = uint64_t{256} << 20;  // copied between two calls of `progress`

// A copy of files, which calls `progress` now and then.
class Copy {
 public:
  explicit Copy(const std::function<void()>& progress) : progress_(progress) { progress_(); }
  // Copies the parts of a file that have memory; the others stay holes.
  void File(const std::string& from, const std::string& to);
  // Copies all files that are not there yet.
  void Directory(const std::string& from, const std::string& to);

 private:
  void Count(uint64_t bytes) {
    bytes_ += bytes;
    if (bytes_ < kProgressBytes) return;
    bytes_ = 0;
    progress_();
  }
  const std::function<void()>& progress_;
  uint64_t bytes_ = 0;  // since the last call
};

void Copy::File(const std::string& from, const std::string& to) {
  const UniqueFd source = OpenOwnFile(from, O_RDONLY);
  const UniqueFd target = OpenFile(to, O_RDWR | O_CREAT | O_EXCL, 0600);
  const uint64_t size = FileSize(from);
  if (::ftruncate(target.get(), static_cast<off_t>(size)) != 0) ThrowErrno("can't size", to);
  std::vector<std::byte> buffer(kBufferBytes);
  for (uint64_t at = 0; at < size;) {
    const off_t data = ::lseek(source.get(), static_cast<off_t>(at), SEEK_DATA);
    if (data < 0 && errno == ENXIO) return;  // only a hole follows
    const off_t hole = data < 0 ? data : ::lseek(source.get(), data, SEEK_HOLE);
    if (hole < 0) ThrowErrno("can't look for holes in", from);
    const auto end = static_cast<uint64_t>(hole);
    for (at = static_cast<uint64_t>(data); at < end;) {
      const std::span<std::byte> part(buffer.data(), std::min(kBufferBytes, end - at));
      ReadExactly(source.get(), at, part, from);
      size_t done = 0;
      while (done < part.size()) {
        const ssize_t put = ::pwrite(target.get(), part.data() + done, part.size() - done,
                                     static_cast<off_t>(at + done));
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) ThrowErrno("can't write", to);
        done += static_cast<size_t>(put);
      }
      at += part.size();
      Count(part.size());
    }
  }
}

void Copy::Directory(const std::string& from, const std::string& to) {
  for (const std::string& name : ListDirectory(from)) {
    const std::string source = StrCat(from, "/", name), target = StrCat(to, "/", name);
    struct stat info {};
    if (::lstat(source.c_str(), &info) != 0) ThrowErrno("can't examine", source);
    if (!S_ISDIR(info.st_mode)) {
      if (!FileExists(target)) File(source, target);
      continue;
    }
    if (::mkdir(target.c_str(), 0700) != 0) ThrowErrno("can't create directory", target);
    Directory(source, target);
  }
}

// Returns the owner of memory of any version; nothing, and why, if no store can use it.
std::optional<MemoryOwner> OwnerOf(int fd, std::string* why) {
  const std::string directory = PathOfDescriptor(fd);
  try {
    OpenOwnDirectory(directory);
    std::optional<MemoryOwner> owner = MemoryOwner::ReadAnyVersion(directory);
    if (!owner) *why = "its file `owner` is of another version of graphd, or damaged";
    return owner;
  } catch (const Error& error) {
    // Others could have written it. Any other error may pass.
    if (error.code() != ErrorCode::kDenied) throw;
    *why = error.what();
    return {};
  }
}

}  // namespace

std::string CopyToNamedMemory(const std::string& name, int fd, const std::string& parent,
                              const std::function<void()>& progress) {
  const std::string from = PathOfDescriptor(fd);
  std::string why;
  // The owner's version does not matter: the copy is for a version that knows it.
  const std::optional<MemoryOwner> owner = OwnerOf(fd, &why);
  if (!owner || !MemoryName::IsNeeded(owner->store_directory, name)) return {};
  std::string target = PathOfCopy(owner->nonce, parent);
  std::string made = StrCat(parent, "/", kMemoryPrefix, "XXXXXX");
  if (::mkdtemp(made.data()) == nullptr) ThrowErrno("can't make a directory like", made);
  try {
    Copy copy(progress);
    // This file comes first, so that a copy which is never completed has an owner who removes it.
    copy.File(MemoryOwner::PathIn(from), MemoryOwner::PathIn(made));
    copy.Directory(from, made);
    if (HasCopy(target)) RemoveTree(target);  // an older one, of a process that has ended
    RenameFile(made, target);
  } catch (const Error&) {
    RemoveTree(made);
    throw;
  }
  return target;
}

bool IsMemoryNeeded(const std::string& name, int fd) {
  std::string why;
  const std::optional<MemoryOwner> owner = OwnerOf(fd, &why);
  return owner && MemoryName::IsNeeded(owner->store_directory, name);
}

std::string PathOfCopy(const std::string& nonce, const std::string& parent) {
  return StrCat(parent, "/", kMemoryPrefix, nonce);
}

bool HasCopy(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == ::geteuid();
}

std::string WhyUseless(const std::string& name, int fd) {
  try {
    std::string why;
    const std::optional<MemoryOwner> owner = OwnerOf(fd, &why);
    if (!owner) return why;
    const std::string& store = owner->store_directory;
    if (MemoryName::IsNeeded(store, name)) return {};
    if (!MemoryOwner::Read(PathOfDescriptor(fd))) {
      return "it was made by another version of graphd, and no database names it";
    }
    const std::optional<MemoryName> saved = MemoryName::ReadSaved(store);
    if (saved && saved->is_kept && saved->place == name) return {};
    return store + " does not name it";
  } catch (const Error& error) {
    LogWarning("memory of tensors stays with the service manager, since it may be needed: ",
               error.what());
    return {};
  }
}

}  // namespace graphd::store
