// SPDX-License-Identifier: Apache-2.0
#include "store/rows/undo_log.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/check.h"
#include "base/strings.h"
#include "store/rows/memory_dir.h"

namespace graphd::store {

UndoLog::UndoLog(const std::string& path)
    : path_(path), fd_(OpenFile(path, O_RDWR | O_CREAT, 0600)) {
  Reserve(0);
  // Map the maximum, so that the mapping never moves; Reserve allocates the memory.
  void* base = ::mmap(nullptr, kHeaderBytes + kMaxBytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_NORESERVE, fd_.get(), 0);
  if (base == MAP_FAILED) ThrowErrno("can't map", path);
  base_ = static_cast<std::byte*>(base);
}

UndoLog::~UndoLog() { ::munmap(base_, kHeaderBytes + kMaxBytes); }

void UndoLog::Reserve(uint64_t page_bytes) {
  const uint64_t bytes = page_bytes + kPageRows * sizeof(int64_t);
  GRAPHD_CHECK(bytes <= kMaxBytes, "a page fits");
  AllocateFile(fd_.get(), 0, kHeaderBytes + bytes, path_,
               StrCat("no memory for ", HumanBytes(bytes), " of rows being changed"));
}

}  // namespace graphd::store
