// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "graphd/error.h"

namespace graphd::testing {

// Expects f to throw Error(code) with the text in its message.
inline void ExpectError(const std::function<void()>& f, ErrorCode code, const std::string& text) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown, expected: " << text;
}

}  // namespace graphd::testing
