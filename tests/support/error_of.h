// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd::testing {

// Returns what `action` threw, as "code: message".
template <class Action>
std::string ErrorOf(Action&& action) {
  try {
    action();
    return "no error";
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
}

}  // namespace graphd::testing
