// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/user_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdio.h>

#include <array>
#include <memory>

namespace graphd::ctl {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::optional<OptionKind> KindOf(const std::string& option) {
  if (option == "--extra_envs" || option == "--extra-envs") return OptionKind::kAssignments;
  if (option == "--keep_alive") return OptionKind::kFlag;
  if (option == "--num_trainers" || option == "--ip_config") return OptionKind::kOneValue;
  return std::nullopt;
}

SplitArguments Split(const std::vector<std::string>& words) {
  return SplitCommandLine(words, KindOf);
}

// Returns the word that /bin/sh reads from `text`.
std::string EchoedBySh(const std::string& text) {
  const std::string program = "printf '%s|' " + ShellQuote(text);
  std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(program.c_str(), "r"), ::pclose);
  std::array<char, 256> bytes{};
  const size_t size = ::fread(bytes.data(), 1, bytes.size(), pipe.get());
  return std::string(bytes.data(), size);
}

TEST(SplitCommandLine, OneWordIsAnUnchangedShellProgram) {
  const auto split = Split({"--num_trainers", "2", "python3 train.py --name 'a b' \"$HOME\""});
  EXPECT_THAT(split.options, ElementsAre("--num_trainers", "2"));
  EXPECT_THAT(split.command.words, ElementsAre("python3 train.py --name 'a b' \"$HOME\""));
  EXPECT_TRUE(split.command.is_shell);
}

TEST(SplitCommandLine, SeveralWordsAreAnArgumentVector) {
  const auto split = Split({"--keep_alive", "python3", "train.py", "--num_trainers", "7"});
  EXPECT_THAT(split.options, ElementsAre("--keep_alive"));
  EXPECT_THAT(split.command.words, ElementsAre("python3", "train.py", "--num_trainers", "7"));
  EXPECT_FALSE(split.command.is_shell);
}

TEST(SplitCommandLine, EvenOneWordAfterDashDashIsAnArgumentVector) {
  const auto split = Split({"--num_trainers=3", "--", "./my trainer"});
  EXPECT_THAT(split.options, ElementsAre("--num_trainers=3"));
  EXPECT_THAT(split.command.words, ElementsAre("./my trainer"));
  EXPECT_FALSE(split.command.is_shell);
}

TEST(SplitCommandLine, DashDashInsideTheCommandBelongsToTheCommand) {
  EXPECT_THAT(Split({"run", "--", "x"}).command.words, ElementsAre("run", "--", "x"));
}

TEST(SplitCommandLine, ExtraEnvsEndsAtTheFirstWordThatIsNotAnAssignment) {
  const auto split = Split({"--extra_envs", "A=b", "C=d e", "python3 train.py"});
  EXPECT_THAT(split.options, ElementsAre("--extra_envs", "A=b", "--extra_envs", "C=d e"));
  EXPECT_THAT(split.command.words, ElementsAre("python3 train.py"));
}

TEST(SplitCommandLine, ExtraEnvsMayPrecedeOtherOptions) {
  const auto split = Split({"--extra-envs", "A=b", "C=", "--ip_config", "f", "run", "me=1"});
  EXPECT_THAT(split.options,
              ElementsAre("--extra-envs", "A=b", "--extra-envs", "C=", "--ip_config", "f"));
  EXPECT_THAT(split.command.words, ElementsAre("run", "me=1"));
}

TEST(SplitCommandLine, ExtraEnvsWithoutAnAssignmentIsLeftForTheParserToReject) {
  const auto split = Split({"--extra_envs", "python3 train.py"});
  EXPECT_THAT(split.options, ElementsAre("--extra_envs"));
}

TEST(SplitCommandLine, UnknownOptionsRemainOptions) {
  const auto split = Split({"--num_trainer", "4", "cmd"});
  EXPECT_THAT(split.options, ElementsAre("--num_trainer"));
}

TEST(SplitCommandLine, AMissingCommandIsEmpty) {
  const auto split = Split({"--num_trainers", "2"});
  EXPECT_THAT(split.command.words, IsEmpty());
  EXPECT_FALSE(split.command.is_shell);
}

TEST(IsAssignment, AcceptsValidNamesOfEnvironmentVariables) {
  EXPECT_TRUE(IsAssignment("A=b"));
  EXPECT_TRUE(IsAssignment("_x9="));
  EXPECT_TRUE(IsAssignment("PYTHONPATH=/a:/b c"));
  EXPECT_FALSE(IsAssignment("=b"));
  EXPECT_FALSE(IsAssignment("9a=b"));
  EXPECT_FALSE(IsAssignment("--lr=0.1"));
  EXPECT_FALSE(IsAssignment("python3 train.py --a=b"));
  EXPECT_FALSE(IsAssignment("word"));
}

TEST(ShellQuote, AShellReturnsAnyQuotedTextUnchanged) {
  for (const std::string text :
       {"plain", "", "two words", "it's", "''", "\"quoted\"", "$HOME `id` $(id)", "a\\b", "a\nb",
        "*?[x]", "~root", "#no comment", "-n", "ünïcödé", "a;b&c|d<e>f(g){h}!"}) {
    EXPECT_EQ(EchoedBySh(text), text + "|");
  }
}

TEST(DisplayCommand, CanBeTypedIntoAShell) {
  EXPECT_EQ(DisplayCommand({{"a 'b' c"}, true}), "a 'b' c");
  EXPECT_EQ(DisplayCommand({{"a", "b c", ""}, false}), "a 'b c' ''");
}

}  // namespace
}  // namespace graphd::ctl
