// SPDX-License-Identifier: Apache-2.0
#include "wire/memory/push_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "base/huge_pages.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr const char* kName = "graphd-pushes";
constexpr int kPushSeals = F_SEAL_SHRINK | F_SEAL_GROW;

}  // namespace

PushMemory::PushMemory() : fd_(::memfd_create(kName, MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!fd_ || ::ftruncate(fd_.get(), off_t{kBytes}) != 0 ||
      ::fcntl(fd_.get(), F_ADD_SEALS, kPushSeals | F_SEAL_SEAL) != 0) {
    ThrowErrno("can't make memory for", "pushes");
  }
  Map(PROT_READ);
}

PushMemory::PushMemory(UniqueFd fd) : fd_(std::move(fd)) {
  struct stat status {};
  const int seals = ::fcntl(fd_.get(), F_GET_SEALS);
  if (::fstat(fd_.get(), &status) != 0 || static_cast<uint64_t>(status.st_size) != kBytes ||
      (seals & kPushSeals) != kPushSeals) {
    Throw(ErrorCode::kInvalid,
          "the memory received for pushes is not valid: the daemon has another "
          "version");
  }
  Map(PROT_READ | PROT_WRITE);
}

PushMemory::~PushMemory() { ::munmap(data_, kBytes); }

void PushMemory::TakeUpTo(uint64_t end) noexcept {
  const MutexLock lock(mutex_);
  if (end <= taken_) return;
  end = std::min((end + kHugePage - 1) / kHugePage * kHugePage, kBytes);
  PopulateHugePages(data_ + taken_,
                    end - taken_);  // if it fails, the kernel allocates pages on first write
  taken_ = end;
}

void PushMemory::Map(int protection) {
  data_ = MapAligned(fd_.get(), kBytes, protection, MAP_SHARED);
  if (data_ == nullptr) ThrowErrno("can't map memory for", "pushes");
  ::madvise(data_, kBytes, MADV_HUGEPAGE);
}

}  // namespace graphd
