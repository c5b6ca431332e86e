// SPDX-License-Identifier: Apache-2.0
#include "store/rows/undo_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"
#include "base/directory.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {

UndoLog::UndoLog(const std::string& path, bool kept) : path_(path) {
  const bool missing = !FileExists(path);
  fd_ = OpenOwnFile(path, O_RDWR | O_CREAT);
  const uint64_t found_bytes = FileSize(path);
  // The maximum size is mapped, so that the mapping never moves. Reserve allocates the memory.
  void* base = ::mmap(nullptr, kHeaderBytes + kMaxBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (base == MAP_FAILED) ThrowErrno("can't map", path);
  base_ = static_cast<std::byte*>(base);
  try {
    guard_ = MappingGuard(base_, kHeaderBytes + kMaxBytes);
  } catch (...) {
    ::munmap(base_, kHeaderBytes + kMaxBytes);
    throw;
  }
  try {
    if (kept && missing) {
      found_damage_ = path + " was removed";
    } else if (kept) {
      found_damage_ = FindDamage(found_bytes);
    }
    Reserve(0);
    if (!found_damage_.empty()) header().magic = 0;
    if (kept) return;
    header().rows = 0;
    header().group = 0;
    header().magic = kMagic;
  } catch (...) {
    guard_ = {};
    ::munmap(base_, kHeaderBytes + kMaxBytes);
    throw;
  }
}

// Returns the damage to a file that an earlier process has used, or an empty text. The file of a
// process that was killed has no damage, whatever the process was doing.
std::string UndoLog::FindDamage(uint64_t file_bytes) const {
  const Header& h = header();
  if (file_bytes < kHeaderBytes) return StrCat(path_, " was truncated to ", file_bytes, " bytes");
  if (h.magic != kMagic || h.group > kMaxGroup) return path_ + " was truncated or overwritten";
  if (file_bytes < h.reserved) {
    return StrCat(path_, " was truncated to ", file_bytes, " bytes from ", h.reserved);
  }
  const uint64_t rows = h.rows.load(std::memory_order_acquire);
  if (rows == 0) return {};
  const uint64_t room = file_bytes - kHeaderBytes;
  if (rows > kPageRows || h.value_bytes > room || h.state_bytes > room ||
      rows * (h.value_bytes + h.state_bytes + kRowExtra) > room) {
    return path_ + " was overwritten";
  }
  const std::byte* at = begin();
  for (uint64_t i = 0; i < rows; i++) {
    at += h.value_bytes + h.state_bytes + kRowExtra;
    if (std::memcmp(at - sizeof kRowMark, &kRowMark, sizeof kRowMark) != 0) {
      return path_ + " was truncated or overwritten";
    }
  }
  return {};
}

UndoLog::~UndoLog() {
  guard_ = {};
  ::munmap(base_, kHeaderBytes + kMaxBytes);
}

std::string UndoLog::Damage() const {
  const MutexLock lock(mutex_);  // the file does not grow meanwhile
  std::string what = WhatHappenedTo(fd_.get(), path_, reserved_.load());
  if (what.empty() && guard_.damaged()) what = path_ + " was truncated for a while";
  return what;
}

void UndoLog::Reserve(uint64_t page_bytes) {
  const uint64_t bytes = FileBytes(page_bytes);
  GRAPHD_CHECK(bytes <= kHeaderBytes + kMaxBytes, "a page fits");
  const MutexLock lock(mutex_);
  if (bytes <= reserved_) return;
  AllocateFile(fd_.get(), 0, bytes, path_,
               StrCat("no memory for ", HumanBytes(page_bytes), " of rows being changed"));
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) ThrowErrno("can't stat", path_);
  reserved_ = static_cast<uint64_t>(info.st_size);
  header().reserved = reserved_;
}

void UndoLog::Shrink(uint64_t page_bytes) noexcept {
  const MutexLock lock(mutex_);
  const uint64_t bytes = FileBytes(page_bytes);
  if (bytes >= reserved_) return;
  header().reserved = bytes;  // before the file is truncated, which would be damage otherwise
  if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) == 0) reserved_ = bytes;
}

}  // namespace graphd::store
