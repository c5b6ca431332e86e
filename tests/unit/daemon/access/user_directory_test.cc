// SPDX-License-Identifier: Apache-2.0
#include "daemon/access/user_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <unistd.h>

#include <atomic>
#include <future>

#include "base/strings.h"
#include "graphd/error.h"

namespace graphd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class UserDirectories : public ::testing::Test {
 protected:
  std::vector<gid_t> Find(UserDirectory& users, uid_t uid) {
    return users.Find(uid, timer_).wait(io_.waitScope);
  }
  // Finds a user whom the service does not answer for.
  std::vector<gid_t> FindLate(UserDirectory& users, uid_t uid) {
    auto found = users.Find(uid, timer_);
    EXPECT_FALSE(found.poll(io_.waitScope));
    timer_.advanceTo(timer_.now() + UserDirectory::kPatience * kj::SECONDS);
    return found.wait(io_.waitScope);
  }

  // Behind pointers, because their destructors may throw.
  const std::unique_ptr<kj::AsyncIoContext> loop_ =
      std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
  kj::AsyncIoContext& io_ = *loop_;
  const std::unique_ptr<kj::TimerImpl> clock_ =
      std::make_unique<kj::TimerImpl>(kj::origin<kj::TimePoint>());
  kj::TimerImpl& timer_ = *clock_;
};

TEST_F(UserDirectories, FindTheGroupsInTheSystemsDatabases) {
  UserDirectory users;
  EXPECT_THAT(Find(users, 0), Contains(0U));
  EXPECT_THAT(Find(users, 64001), IsEmpty());
}

TEST_F(UserDirectories, AskOnceAndRemember) {
  std::atomic<int> asked{0};
  UserDirectory users([&](uid_t uid) {
    asked++;
    return std::vector<gid_t>{uid + 1};
  });
  auto first = users.Find(7, timer_), second = users.Find(7, timer_);
  EXPECT_THAT(first.wait(io_.waitScope), ElementsAre(8U));
  EXPECT_THAT(second.wait(io_.waitScope), ElementsAre(8U));
  EXPECT_THAT(Find(users, 7), ElementsAre(8U));
  EXPECT_EQ(asked, 1);
}

TEST_F(UserDirectories, AServiceThatDoesNotAnswerLeavesAUserWithoutGroups) {
  std::promise<void> release;
  {
    UserDirectory users([answers = release.get_future().share()](uid_t uid) {
      answers.wait();
      return std::vector<gid_t>{uid};
    });
    EXPECT_THAT(FindLate(users, 7), IsEmpty());
    EXPECT_THAT(FindLate(users, 7), IsEmpty());
    EXPECT_THAT(FindLate(users, 8), IsEmpty());
  }
  release.set_value();  // the thread ends after its directory
}

TEST_F(UserDirectories, AnErrorOfTheServiceLeavesAUserWithoutGroups) {
  std::atomic<int> asked{0};
  UserDirectory users([&](uid_t uid) -> std::vector<gid_t> {
    if (asked++ == 0) throw std::bad_alloc();
    return {uid};
  });
  EXPECT_THAT(Find(users, 7), IsEmpty());
  EXPECT_THAT(Find(users, 7), ElementsAre(7U));  // it is not remembered
}

TEST_F(UserDirectories, NumbersOfUsersAreBounded) {
  std::promise<void> release;
  UserDirectory users([answers = release.get_future().share()](uid_t uid) {
    answers.wait();
    return std::vector<gid_t>{uid};
  });
  std::vector<kj::Promise<std::vector<gid_t>>> found;
  for (uid_t uid = 0; uid < UserDirectory::kMaxUsers; uid++) {
    found.push_back(users.Find(uid, timer_));
  }
  EXPECT_THAT(Find(users, 5000), IsEmpty());  // at once
  release.set_value();
  for (auto& each : found) EXPECT_EQ(each.wait(io_.waitScope).size(), 1u);
  EXPECT_THAT(Find(users, 5000), ElementsAre(5000U));  // another one is forgotten
}

}  // namespace
}  // namespace graphd
