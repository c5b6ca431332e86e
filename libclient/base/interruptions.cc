// SPDX-License-Identifier: Apache-2.0
#include "base/interruptions.h"

#include <utility>

// Implements graphd/interrupt.h (InterruptCheck) and base/interruptions.h (Interruptions).

namespace graphd {
namespace {

thread_local InterruptCheck* innermost = nullptr;

}  // namespace

InterruptCheck::InterruptCheck(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(innermost, this)) {}

InterruptCheck::~InterruptCheck() { innermost = outer_; }

bool Interruptions::AreChecked() noexcept { return innermost != nullptr; }

void Interruptions::Check() {
  if (innermost == nullptr) return;
  try {
    innermost->check_();
  } catch (...) {
    innermost->has_thrown_ = true;
    throw;
  }
}

bool Interruptions::Happened() noexcept { return innermost != nullptr && innermost->has_thrown_; }

}  // namespace graphd
