// SPDX-License-Identifier: Apache-2.0
#include "base/secret.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(Secret, IsRandomText) {
  const std::string one = NewSecret(), other = NewSecret();
  EXPECT_EQ(one.size(), 64U);
  EXPECT_EQ(one.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(one, other);
}

TEST(Secret, IsComparedAsAWhole) {
  EXPECT_TRUE(EqualSecrets("", ""));
  EXPECT_TRUE(EqualSecrets("abc", "abc"));
  EXPECT_FALSE(EqualSecrets("abc", "abd"));
  EXPECT_FALSE(EqualSecrets("xbc", "abc"));
  EXPECT_FALSE(EqualSecrets("abc", "ab"));
  EXPECT_FALSE(EqualSecrets("", "a"));
}

}  // namespace
}  // namespace graphd
