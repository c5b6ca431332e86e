// SPDX-License-Identifier: Apache-2.0
#include "base/strings.h"

#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(Strings, Utf8IsToldFromOtherBytes) {
  for (const char* text :
       {"", "plain", "\x7f", "\u00e4", "\u20ac", "\U0001f600", "\ud7ff", "\U0010ffff"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  for (const char* text : {"\xe4", "a\xc3", "\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80",
                           "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xff", "\xc3("}) {
    EXPECT_FALSE(IsUtf8(text)) << text;
  }
}

TEST(Strings, ATruncatedTextHasWholeCharactersAndKeepsNoMemory) {
  std::string text = "ab\u20ac" + std::string(size_t{1} << 20, 'x');
  Truncate(text, 4);
  EXPECT_EQ(text, "ab");
  EXPECT_LT(text.capacity(), 100U);
}

}  // namespace
}  // namespace graphd
