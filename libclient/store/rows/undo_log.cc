// SPDX-License-Identifier: Apache-2.0
#include "store/rows/undo_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/directory.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {

UndoLog::UndoLog(const std::string& path) : path_(path), fd_(OpenOwnFile(path, O_RDWR | O_CREAT)) {
  Reserve(0);
  // Map the maximum, so that the mapping never moves; Reserve allocates the memory.
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
  const uint64_t bytes = page_bytes + kPageRows * sizeof(int64_t);
  GRAPHD_CHECK(bytes <= kMaxBytes, "a page fits");
  const MutexLock lock(mutex_);
  if (kHeaderBytes + bytes <= reserved_) return;
  AllocateFile(fd_.get(), 0, kHeaderBytes + bytes, path_,
               StrCat("no memory for ", HumanBytes(bytes), " of rows being changed"));
  struct stat info {};
  if (::fstat(fd_.get(), &info) != 0) ThrowErrno("can't stat", path_);
  reserved_ = static_cast<uint64_t>(info.st_size);
}

}  // namespace graphd::store
