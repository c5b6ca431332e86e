// SPDX-License-Identifier: Apache-2.0
#include "base/interruptions.h"

namespace graphd {

InterruptCheck*& Interruptions::Innermost() noexcept {
  thread_local InterruptCheck* innermost = nullptr;
  return innermost;
}

bool Interruptions::AreChecked() noexcept { return Innermost() != nullptr; }

void Interruptions::Check() {
  InterruptCheck* const innermost = Innermost();
  if (innermost == nullptr) return;
  try {
    innermost->check_();
  } catch (...) {
    innermost->has_thrown_ = true;
    throw;
  }
}

bool Interruptions::Happened() noexcept {
  const InterruptCheck* const innermost = Innermost();
  return innermost != nullptr && innermost->has_thrown_;
}

}  // namespace graphd
