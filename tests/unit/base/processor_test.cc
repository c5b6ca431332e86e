// SPDX-License-Identifier: Apache-2.0
#include "base/processor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tests/support/error_of.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// Restores the environment variable at the end of a test.
class VectorBits : public ::testing::Test {
 protected:
  VectorBits() {
    if (const char* const given = std::getenv(kVectorBitsVariable)) before_ = given;
  }
  ~VectorBits() override { Set(before_); }
  static void Set(const std::string& text) { ::setenv(kVectorBitsVariable, text.c_str(), 1); }

 private:
  std::string before_;  // empty: as if it was not set
};

TEST_F(VectorBits, AreAtMostThoseOfTheVariableAndOfTheProcessor) {
  const int has = ProcessorVectorBits();
  for (const int bits : {128, 256, 512}) {
    Set(std::to_string(bits));
    EXPECT_EQ(ChosenVectorBits(), std::min(bits, has));
    EXPECT_NO_THROW(CheckVectorBits());
  }
  Set("");
  EXPECT_EQ(ChosenVectorBits(), has);
  EXPECT_NO_THROW(CheckVectorBits());
}

TEST_F(VectorBits, InvalidValuesAreIgnoredUntilTheyAreReported) {
  for (const char* text : {"0", "64", "1024", "256 ", "+256", "avx2"}) {
    Set(text);
    EXPECT_EQ(ChosenVectorBits(), ProcessorVectorBits()) << text;
    EXPECT_THAT(testing::ErrorOf(CheckVectorBits), HasSubstr(text));
  }
}

TEST_F(VectorBits, TheTextSaysWhyTheyAreFewer) {
  Set("");
  EXPECT_THAT(VectorBitsText(), Not(HasSubstr(kVectorBitsVariable)));
  Set("128");
  EXPECT_THAT(VectorBitsText(), HasSubstr("vectors of up to 128 bits"));
  const bool are_fewer = ProcessorVectorBits() > 128;
  EXPECT_EQ(VectorBitsText().find(" of this processor's ") != std::string::npos, are_fewer);
  EXPECT_EQ(VectorBitsText().find(kVectorBitsVariable) != std::string::npos, are_fewer);
}

}  // namespace
}  // namespace graphd
