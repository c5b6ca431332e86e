// SPDX-License-Identifier: Apache-2.0
#include "wire/memory/memory_account.h"

#include "base/strings.h"

namespace graphd {

bool MemoryAccount::CanTake(size_t bytes, double part) const noexcept {
  size_t sum = 0;
  for (const MemoryAccount* at = this; at != nullptr; at = at->parent_.get()) {
    sum += at->used() + bytes;
  }
  return static_cast<double>(sum) <= static_cast<double>(limit()) * part;
}

bool MemoryAccount::CouldEverTake(size_t bytes) const noexcept {
  size_t sum = 0;
  for (const MemoryAccount* at = this; at != nullptr; at = at->parent_.get()) sum += bytes;
  return sum <= limit();
}

void MemoryAccount::Refuse(size_t bytes) const {
  std::string users, remedy;
  for (const MemoryAccount* at = this; at != nullptr; at = at->parent_.get()) {
    users += StrCat(users.empty() ? "" : ", ", at->owner_, " ", HumanBytes(at->used()));
    remedy = at->remedy_;
  }
  Throw(ErrorCode::kOverloaded, HumanBytes(bytes), " more would exceed a fair share of the ",
        HumanBytes(limit()), " that clients may make this graphd keep. In use: ", users, ". ",
        remedy);
}

}  // namespace graphd
