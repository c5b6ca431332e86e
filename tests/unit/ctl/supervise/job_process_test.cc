// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <optional>
#include <thread>

#include "graphd/error.h"
#include "tests/support/become_user.h"

namespace graphd::ctl {
namespace {

using testing::kNobody;

// A process that sleeps until it is killed, at the latest when this object is destroyed.
class Sleeper {
 public:
  Sleeper() {
    const char* const arguments[] = {"sleep", "600", nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, "/bin/sleep", nullptr, nullptr,
                            const_cast<char* const*>(arguments), nullptr),
              0);
  }
  ~Sleeper() { Kill(); }
  // Returns the signal that has ended it.
  int Kill() {
    if (pid_ == 0) return 0;
    ::kill(pid_, SIGKILL);
    return Wait();
  }
  int Wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = 0;
    return WTERMSIG(status);
  }
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_ = 0;
};

std::optional<ErrorCode> Refusal(pid_t pid, uid_t server_user) {
  try {
    const JobProcess process(pid, server_user);
  } catch (const Error& error) {
    return error.code();
  }
  return {};
}

TEST(JobProcess, ReceivesSignalsUntilItEnds) {
  Sleeper sleeper;
  const JobProcess process(sleeper.pid(), ::geteuid());
  EXPECT_TRUE(process.Signal(SIGTERM));
  EXPECT_EQ(sleeper.Wait(), SIGTERM);
  EXPECT_FALSE(process.Signal(SIGTERM));  // although its number may be another one's now
}

TEST(JobProcess, ThatHasEndedIsNotFound) {
  Sleeper sleeper;
  const pid_t pid = sleeper.pid();
  sleeper.Kill();
  EXPECT_EQ(Refusal(pid, 0), ErrorCode::kNotFound);
}

TEST(JobProcess, OfRootIsNotSignalledForTheServerOfAnotherUser) {
  ASSERT_EQ(::geteuid(), 0U) << "the test must be run as root";
  const Sleeper sleeper;
  EXPECT_EQ(Refusal(sleeper.pid(), kNobody), ErrorCode::kDenied);
  EXPECT_EQ(Refusal(sleeper.pid(), 0), std::nullopt);
}

TEST(JobProcess, OfAnotherUserIsDenied) {
  ASSERT_EQ(::geteuid(), 0U) << "the test must be run as root";
  const Sleeper sleeper;
  std::optional<ErrorCode> refusal;
  std::thread([&] {
    ASSERT_TRUE(testing::BecomeUser(kNobody));
    refusal = Refusal(sleeper.pid(), kNobody);
  }).join();
  EXPECT_EQ(refusal, ErrorCode::kDenied);
}

}  // namespace
}  // namespace graphd::ctl
