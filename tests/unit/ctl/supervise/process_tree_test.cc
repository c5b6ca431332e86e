// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/process_tree.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace graphd::ctl {
namespace {

// Forks a process that does what `f` does and then sleeps. Returns when `f` has returned.
template <class F>
pid_t Fork(const F& f) {
  int ready[2];
  EXPECT_EQ(::pipe(ready), 0);
  const pid_t pid = ::fork();
  if (pid == 0) {
    f();
    while (::write(ready[1], "", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(ready[1]);
  char none;
  EXPECT_EQ(::read(ready[0], &none, 1), 1);
  ::close(ready[0]);
  return pid;
}

// Waits for all children, and for those that processes which have ended leave to this one. Returns
// how many of them SIGKILL has ended.
int KilledChildren() {
  int killed = 0;
  for (int status = 0; ::waitpid(-1, &status, 0) > 0;) {
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) killed++;
  }
  return killed;
}

class ProcessTree : public ::testing::Test {
 protected:
  ProcessTree() { EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
};

TEST_F(ProcessTree, DescendantsInOtherSessionsAndWithAnyNameAreKilled) {
  Fork([] {
    Fork([] {
      ::setsid();
      ::prctl(PR_SET_NAME, "a) R 1 (b) Z");
    });
  });
  EXPECT_EQ(KillDescendants(0, 10), 2);
  EXPECT_EQ(KilledChildren(), 2);
}

TEST_F(ProcessTree, AProcessThatIsSparedAndItsDescendantsLiveOn) {
  const pid_t spared = Fork([] { Fork([] {}); });
  const pid_t other = Fork([] {});
  EXPECT_EQ(KillDescendants(spared, 0), 1);
  EXPECT_EQ(::waitpid(other, nullptr, 0), other);
  EXPECT_EQ(::waitpid(spared, nullptr, WNOHANG), 0);
  EXPECT_EQ(KillDescendants(0, 10), 2);
  EXPECT_EQ(KilledChildren(), 2);
}

}  // namespace
}  // namespace graphd::ctl
