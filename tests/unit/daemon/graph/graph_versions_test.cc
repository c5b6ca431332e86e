// SPDX-License-Identifier: Apache-2.0
#include "daemon/graph/graph_versions.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace graphd::testing {
namespace {

VersionPtr Version(const std::string& id) {
  auto version = std::make_shared<GraphVersion>();
  version->id = id;
  version->part_config = "/" + id + ".json";
  return version;
}

ErrorCode CodeOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code();
  }
  return ErrorCode::kInternal;
}

TEST(GraphVersions, JobsKeepWhatTheyBeganWith) {
  GraphVersions versions(Version("a"), {0, 0});
  EXPECT_EQ(versions.Use("old", {})->id, "a");
  versions.Switch(Version("b"));
  EXPECT_EQ(versions.Use("old", {})->id, "a");
  EXPECT_EQ(versions.Use("old", "a")->id, "a");
  EXPECT_EQ(versions.Use("new", {})->id, "b");
  EXPECT_EQ(versions.Of("old")->id, "a");
  EXPECT_TRUE(versions.TakeUnused().empty());
  versions.OnJobLeft("old");
  const std::vector<VersionPtr> unused = versions.TakeUnused();
  ASSERT_EQ(unused.size(), 1U);
  EXPECT_EQ(unused[0]->id, "a");
  EXPECT_EQ(versions.All().size(), 1U);
  // A job without a version here has left nothing behind.
  versions.OnJobLeft("unknown");
}

TEST(GraphVersions, AJobThatComesBackFindsItsVersionForAWhile) {
  GraphVersions versions(Version("a"), {3600, 0});
  versions.Use("old", {});
  versions.Switch(Version("b"));
  versions.OnJobLeft("old");
  EXPECT_TRUE(versions.TakeUnused().empty());
  EXPECT_EQ(versions.Use("old", "a")->id, "a");
  versions.OnJobLeft("old");
  EXPECT_TRUE(versions.TakeUnused().empty());
  // It can't come back once an operator has ended it.
  versions.OnJobEnded("old");
  EXPECT_EQ(versions.TakeUnused().size(), 1U);
}

TEST(GraphVersions, AJobThatHasLeftBeforeTheSwitchFindsItsVersionToo) {
  GraphVersions versions(Version("a"), {3600, 0});
  versions.Use("old", {});
  versions.OnJobLeft("old");
  versions.Switch(Version("b"));
  EXPECT_TRUE(versions.TakeUnused().empty());
  EXPECT_EQ(versions.Use("old", "a")->id, "a");
}

TEST(GraphVersions, AVersionIsKeptForAWhileAfterASwitch) {
  GraphVersions versions(Version("a"), {0, 3600});
  versions.Switch(Version("b"));
  EXPECT_TRUE(versions.TakeUnused().empty());
  // The trainers of a job that has just begun at another daemon, which had not switched yet.
  EXPECT_EQ(versions.Use("begun", "a")->id, "a");
}

TEST(GraphVersions, AJobNeverMixesVersions) {
  GraphVersions versions(Version("a"), {0, 0});
  versions.Use("old", {});
  versions.Switch(Version("b"));
  EXPECT_EQ(CodeOf([&] { versions.Use("old", "b"); }), ErrorCode::kInvalid);
  versions.OnJobLeft("old");
  versions.TakeUnused();
  EXPECT_EQ(CodeOf([&] { versions.Use("old", "a"); }), ErrorCode::kInvalid);
  EXPECT_EQ(versions.All()[0].jobs, 0U);
}

TEST(GraphVersions, AVersionThatIsAboutToBeServedIsWaitedFor) {
  GraphVersions versions(Version("a"), {0, 0});
  EXPECT_EQ(CodeOf([&] { versions.Use("new", "b"); }), ErrorCode::kInvalid);
  versions.SetComing("b");
  EXPECT_EQ(CodeOf([&] { versions.Use("new", "b"); }), ErrorCode::kUnavailable);
  EXPECT_EQ(versions.Use("other", {})->id, "a");
  versions.Switch(Version("b"));
  EXPECT_EQ(versions.Use("new", "b")->id, "b");
}

}  // namespace
}  // namespace graphd::testing
