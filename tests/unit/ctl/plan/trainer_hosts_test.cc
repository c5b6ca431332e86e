// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/trainer_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graphd/error.h"

namespace graphd::ctl {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(TrainerHosts, LinesHaveAnAddressAndMayHaveANumberOfTrainers) {
  const auto hosts =
      ParseTrainerHosts("# GPUs\n10.0.0.8\n\n  fe80::1   4\ngpu-3\t1\r\n", "gpus.txt");
  ASSERT_EQ(hosts.size(), 3u);
  EXPECT_EQ(hosts[0].address, "10.0.0.8");
  EXPECT_FALSE(hosts[0].num_trainers.has_value());
  EXPECT_EQ(hosts[1].address, "fe80::1");
  EXPECT_EQ(hosts[1].num_trainers, 4);
  EXPECT_EQ(hosts[1].where, "gpus.txt line 4");
  EXPECT_EQ(hosts[2].address, "gpu-3");
  EXPECT_EQ(hosts[2].num_trainers, 1);
}

TEST(TrainerHosts, ErrorsNameFileLineValueAndRemedy) {
  const auto error_of = [](const std::string& text) -> std::string {
    try {
      ParseTrainerHosts(text, "gpus.txt");
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalid);
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(error_of("h 30050\n"),
              AllOf(HasSubstr("gpus.txt line 1"), HasSubstr("30050"), HasSubstr("no server")));
  EXPECT_THAT(error_of("h 0\n"), AllOf(HasSubstr("line 1"), HasSubstr("0")));
  EXPECT_THAT(error_of("h x\n"), AllOf(HasSubstr("line 1"), HasSubstr("x")));
  EXPECT_THAT(error_of("h 1 2\n"), HasSubstr("'h 1 2' has 3 columns; write 'address [trainers]'"));
  EXPECT_THAT(error_of("a\nb\na 2\n"),
              AllOf(HasSubstr("gpus.txt line 3: 'a' is that of gpus.txt line 1"),
                    HasSubstr("second column")));
  EXPECT_THAT(error_of("# none\n"), HasSubstr("gpus.txt names no host"));
}

}  // namespace
}  // namespace graphd::ctl
