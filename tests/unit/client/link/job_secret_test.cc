// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/link/control.h"
#include "graphd/initialize.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;
using Daemons = std::vector<std::vector<int>>;

class JobSecret : public ::testing::Test {
 protected:
  Options WithSecret(const std::string& secret, int rank = 0) const {
    Options options = served_.TrainerOptions(Transport::kAuto, rank, 2);
    options.job_secret = secret;
    return options;
  }
  ErrorCode CodeOf(const Options& options) const {
    try {
      Initialize(options);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("job test has another secret"));
      EXPECT_EQ(std::string(error.what()).find("right"), std::string::npos) << "shows the secret";
      return error.code();
    }
    return ErrorCode::kInternal;
  }
  ServedGraphFixture served_{Daemons{{0, 1}}};
};

TEST_F(JobSecret, KeepsOutWhoDoesNotHaveIt) {
  const auto session = Initialize(WithSecret("right"));
  EXPECT_EQ(CodeOf(WithSecret("wrong", 1)), ErrorCode::kDenied);
  EXPECT_EQ(CodeOf(WithSecret("", 1)), ErrorCode::kDenied);
  EXPECT_NO_THROW(Initialize(WithSecret("right", 1)));
}

TEST_F(JobSecret, IsRememberedWhenTheJobHasLeft) {
  Initialize(WithSecret("right"));
  EXPECT_EQ(CodeOf(WithSecret("wrong")), ErrorCode::kDenied);
  EXPECT_NO_THROW(Initialize(WithSecret("right")));
}

TEST_F(JobSecret, IsNotNeededByProcessesOfOneUser) {
  const auto session = Initialize(WithSecret(""));
  EXPECT_NO_THROW(Initialize(WithSecret("", 1)));
  EXPECT_EQ(CodeOf(WithSecret("wrong", 1)), ErrorCode::kDenied);
}

TEST_F(JobSecret, HasALimit) {
  EXPECT_THROW(Initialize(WithSecret(std::string(257, 'x'))), Error);
  EXPECT_NO_THROW(Initialize(WithSecret(std::string(256, 'x'))));
}

}  // namespace
}  // namespace graphd::testing
