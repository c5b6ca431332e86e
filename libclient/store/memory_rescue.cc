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
#include "base/strings.h"
#include "store/memory_name.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {
namespace {

constexpr uint64_t kBufferBytes = uint64_t{1} << 20;

// Copies the parts of a file that have memory; the others stay holes.
void CopyFile(const std::string& from, const std::string& to) {
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
    const auto begin = static_cast<uint64_t>(data), end = static_cast<uint64_t>(hole);
    AllocateFile(target.get(), begin, end - begin, to, "no memory for " + to);
    for (at = begin; at < end;) {
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
    }
  }
}

void CopyDirectory(const std::string& from, const std::string& to) {
  for (const std::string& name : ListDirectory(from)) {
    const std::string source = StrCat(from, "/", name), target = StrCat(to, "/", name);
    struct stat info {};
    if (::lstat(source.c_str(), &info) != 0) ThrowErrno("can't examine", source);
    if (!S_ISDIR(info.st_mode)) {
      CopyFile(source, target);
      continue;
    }
    if (::mkdir(target.c_str(), 0700) != 0) ThrowErrno("can't create directory", target);
    CopyDirectory(source, target);
  }
}

}  // namespace

std::string CopyToNamedMemory(const std::string& name, int fd, const std::string& parent) {
  const std::string from = StrCat("/proc/", ::getpid(), "/fd/", fd, "/.");
  OpenOwnDirectory(from);
  // The owner's version does not matter: the copy is for a version that knows it.
  const std::vector<std::string> owner = Split(ReadOwnText(MemoryOwner::PathIn(from)), '\n');
  if (owner.size() < 3) return {};
  const std::string& store = owner[2];
  const std::string path = MemoryName::PathIn(store);
  if (!FileExists(path)) return {};  // RocksDB has all rows
  const std::optional<MemoryName> now = MemoryName::Read(path);
  if (!now || !now->is_kept || now->place != name) return {};
  std::string to = parent + "/graphd-XXXXXX";
  if (::mkdtemp(to.data()) == nullptr) ThrowErrno("can't make a directory like", to);
  try {
    CopyDirectory(from, to);
    MemoryName::Make(/*is_kept=*/false, to, now->nonce).Write(store);
  } catch (const Error&) {
    RemoveTree(to);
    throw;
  }
  return to;
}

}  // namespace graphd::store
