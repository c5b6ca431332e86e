// SPDX-License-Identifier: Apache-2.0
#include "graphd/interrupt.h"

#include <utility>

#include "base/interruptions.h"

namespace graphd {

InterruptCheck::InterruptCheck(std::function<void()> check)
    : check_(std::move(check)), outer_(std::exchange(Interruptions::Innermost(), this)) {}

InterruptCheck::~InterruptCheck() { Interruptions::Innermost() = outer_; }

}  // namespace graphd
