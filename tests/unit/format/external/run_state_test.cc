// SPDX-License-Identifier: Apache-2.0
#include "format/external/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "graphd/error.h"

#include "tests/unit/format/scratch_directory.h"

namespace graphd {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;
using testing::ScratchDirectory;

std::string Message(auto&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(RunState, KeepsStepsForTheSameKeyOnly) {
  const ScratchDirectory directory;
  const std::string path = directory / "state";
  const ordered_json key{{"--seed", 1}, {"--num_parts", 2}},
      other{{"--seed", 1}, {"--num_parts", 3}};
  EXPECT_FALSE(RunState::Matches(path, key));
  RunState(path, key, false).Write("step", "done");
  EXPECT_TRUE(RunState::Matches(path, key));
  EXPECT_TRUE(RunState(path, key, false).Has("step"));
  EXPECT_TRUE(RunState(path, key, true).Has("step"));
  const std::string message = Message([&] { RunState(path, other, false); });
  EXPECT_THAT(message, HasSubstr("differs in: --num_parts"));
  EXPECT_THAT(message, HasSubstr("--force"));
  EXPECT_TRUE(RunState(path, key, false).Has("step"));
  EXPECT_FALSE(RunState(path, other, true).Has("step"));
}

TEST(RunState, StartsAnewAfterARestartOfTheMachine) {
  const ScratchDirectory directory;
  const ordered_json before{{kMachineStart, "a"}, {"--seed", 1}},
      now{{kMachineStart, "b"}, {"--seed", 1}}, other{{kMachineStart, "b"}, {"--seed", 2}};
  RunState(directory.path(), before, false).Write("step", "done");
  EXPECT_FALSE(RunState::Matches(directory.path(), now));
  EXPECT_TRUE(RunState::MatchesButForStart(directory.path(), now));
  EXPECT_THAT(Message([&] { RunState(directory.path(), other, false); }),
              HasSubstr("differs in: --seed"));
  EXPECT_FALSE(RunState(directory.path(), now, false).Has("step"));
  EXPECT_TRUE(RunState::Matches(directory.path(), now));
}

TEST(RunState, StartsAnewIfTheKeyIsDamagedAndReplaceIsSet) {
  const ScratchDirectory directory;
  const ordered_json key{{"--seed", 1}};
  RunState(directory.path(), key, false).Write("step", "done");
  WriteFileAtomically(directory / "key.json", "{\"--se");
  EXPECT_THAT(Message([&] { RunState(directory.path(), key, false); }), HasSubstr("differs in"));
  EXPECT_FALSE(RunState(directory.path(), key, true).Has("step"));
}

TEST(RunState, IsHeldByOneAtATime) {
  const ScratchDirectory directory;
  const ordered_json key{{"--seed", 1}};
  std::optional<RunState> first(std::in_place, directory.path(), key, false);
  EXPECT_THAT(Message([&] { RunState(directory.path(), key, true); }), HasSubstr("is used by"));
  first.reset();
  RunState(directory.path(), key, false).Remove();
  EXPECT_FALSE(FileExists(directory.path()));
}

TEST(RunState, RemovesOtherStatesUnlessTheyAreUsed) {
  const ScratchDirectory directory;
  const ordered_json key{{"--seed", 1}};
  RunState(directory / "a.partitioning", key, false).Write("step", "done");
  RunState(directory / "b.partitioning", key, false).Write("step", "done");
  MakeDirectories(directory / "mine.partitioning");
  WriteFileAtomically(directory / "mine.partitioning/thesis", "text");
  {
    const RunState used(directory / "c.partitioning", key, false);
    EXPECT_THAT(Message([&] { RunState::RemoveOthers(directory.path(), ""); }),
                HasSubstr("c.partitioning is used by"));
    EXPECT_TRUE(FileExists(directory / "a.partitioning/step"));
  }
  RunState::RemoveOthers(directory.path(), directory / "b.partitioning");
  EXPECT_FALSE(FileExists(directory / "a.partitioning"));
  EXPECT_TRUE(FileExists(directory / "b.partitioning/step"));
  EXPECT_FALSE(FileExists(directory / "c.partitioning"));
  EXPECT_TRUE(FileExists(directory / "mine.partitioning/thesis"));
}

TEST(RunState, KeepsADirectoryThatIsNoState) {
  const ScratchDirectory directory;
  WriteFileAtomically(directory / "thesis", "text");
  const ordered_json key{{"--seed", 1}};
  for (const bool replace : {false, true}) {
    EXPECT_THAT(Message([&] { RunState(directory.path(), key, replace); }),
                HasSubstr("is not the state of a run"));
  }
  EXPECT_TRUE(FileExists(directory / "thesis"));
  EXPECT_FALSE(FileExists(directory / "lock"));
}

}  // namespace
}  // namespace graphd
