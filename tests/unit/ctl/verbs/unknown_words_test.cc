// SPDX-License-Identifier: Apache-2.0
#include "ctl/verbs/unknown_words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace graphd::ctl {
namespace {

using graphd::testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::Not;

class UnknownWords : public ::testing::Test {
 protected:
  UnknownWords() {
    app_.name("graphctl");
    for (const char* name : {"top", "stop", "status", "partition"}) app_.add_subcommand(name);
    app_.add_subcommand("receive")->group("");  // hidden
    CLI::App* server = app_.add_subcommand("server");
    server->add_subcommand("start")->add_option("--num_parts,--num-parts", parts_);
    server->add_subcommand("stop");
    app_.get_subcommand("partition")->add_option("--num_parts,--num-parts,-n", parts_);
  }
  std::string Says(const std::vector<std::string>& words) {
    return ErrorOf([&] { RefuseUnknownWords(app_, words); });
  }
  CLI::App app_;
  int parts_ = 0;
};

TEST_F(UnknownWords, KnownWordsAndValuesPass) {
  EXPECT_EQ(Says({}), "no error");
  EXPECT_EQ(Says({"partition", "--num_parts", "4", "-n", "4", "--num-parts=4", "anything"}),
            "no error");
  EXPECT_EQ(Says({"server", "start", "--num_parts=2"}), "no error");
  EXPECT_EQ(Says({"receive"}), "no error");
}

TEST_F(UnknownWords, WordsBehindTwoDashesAreNotRead) {
  EXPECT_EQ(Says({"partition", "--", "--unknown"}), "no error");
  EXPECT_THAT(Says({"partition", "--unknown", "--"}), HasSubstr("unknown option '--unknown'"));
}

TEST_F(UnknownWords, TheNearestNameIsSuggested) {
  EXPECT_THAT(Says({"partitoin"}), HasSubstr("unknown verb 'partitoin', did you mean 'partition'"));
  EXPECT_THAT(Says({"partition", "--num_part=3"}),
              HasSubstr("unknown option '--num_part', did you mean '--num_parts'; see graphctl "
                        "partition --help"));
  // Two names are equally near; the one that begins with the word is meant.
  EXPECT_THAT(Says({"stat"}), HasSubstr("did you mean 'status'"));
}

TEST_F(UnknownWords, AWordThatIsNearToNothingGetsNoSuggestion) {
  for (const char* word : {"foo", "t", "", "something"}) {
    EXPECT_THAT(Says({word}), Not(HasSubstr("did you mean"))) << word;
    EXPECT_THAT(Says({word}), HasSubstr("unknown verb '")) << word;
  }
  EXPECT_THAT(Says({"--"}), "no error");
}

TEST_F(UnknownWords, AVerbOfAVerbIsNamedWithIt) {
  EXPECT_THAT(Says({"server", "sart"}),
              HasSubstr("unknown verb 'sart', did you mean 'start'; graphctl server has: start, "
                        "stop"));
}

TEST_F(UnknownWords, AHiddenVerbIsNotShown) {
  EXPECT_THAT(Says({"receiv"}), Not(HasSubstr("receive,")));
  EXPECT_THAT(Says({"receiv"}), Not(HasSubstr("did you mean")));
}

}  // namespace
}  // namespace graphd::ctl
