// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/run_guarded.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/supervise/process_tree.h"

namespace graphd::ctl {
namespace {

// State in a page that both processes map.
class SharedState : public GuardState {
 public:
  SharedState() {
    void* page = ::mmap(nullptr, sizeof(std::atomic<pid_t>), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) ThrowErrno("can't map", "shared memory");
    daemon_ = new (page) std::atomic<pid_t>(0);
  }
  ~SharedState() override { ::munmap(daemon_, sizeof *daemon_); }
  void set_daemon(pid_t pid) override { daemon_->store(pid); }
  // If the guard has ended, this process has another parent. This is also correct in a handler of
  // the SIGTERM that the kernel sends because of the guard's end, because the kernel changes the
  // parent first.
  bool guard_lives() const override { return ::getppid() == guard_; }
  pid_t daemon() const { return daemon_->load(); }

 private:
  const pid_t guard_ = ::getpid();
  std::atomic<pid_t>* daemon_;
};

int RunChild(pid_t guard, const sigset_t& mask, const std::function<int(GuardState&)>& supervisor,
             SharedState& state) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != guard) return 143;
  // Make this process a subreaper, too: while both processes live, orphans are adopted by their
  // nearest subreaper, which is this process.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::sigprocmask(SIG_SETMASK, &mask, nullptr);
  return supervisor(state);
}

// Reaps children until `child` ends, and forwards signals to it. Returns its wait status.
int WaitFor(pid_t child, const sigset_t& watched) {
  while (true) {
    int status = 0;
    pid_t pid;
    while ((pid = ::waitpid(-1, &status, WNOHANG)) > 0) {
      if (pid == child) return status;
    }
    siginfo_t info{};
    const int signal = ::sigwaitinfo(&watched, &info);
    if (signal > 0 && signal != SIGCHLD) ::kill(child, SIGTERM);
  }
}

void ReportKilled(int signal, int killed) {
  const std::string frame =
      EncodeFrame({{"t", "error"},
                   {"code", ErrorCodeName(ErrorCode::kUnavailable)},
                   {"text", StrCat("the supervisor was killed by signal ", signal, "; ended ",
                                   killed, " remaining processes")}});
  [[maybe_unused]] ssize_t written = ::write(STDOUT_FILENO, frame.data(), frame.size());
}

}  // namespace

int RunGuarded(const std::function<int(GuardState&)>& supervisor, GuardFiles files) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::signal(SIGPIPE, SIG_IGN);
  SharedState state;
  sigset_t watched, before;
  ::sigemptyset(&watched);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP}) ::sigaddset(&watched, signal);
  ::sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t guard = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) ThrowErrno("can't start", "the supervisor");
  if (child == 0) return RunChild(guard, before, supervisor, state);
  // Another name lets this process survive and clean up if a user kills every graphctl by name.
  ::prctl(PR_SET_NAME, "graphd-guard");
  ::close(STDIN_FILENO);
  if (files == GuardFiles::kLetGo) {
    const int nothing = ::open("/dev/null", O_RDWR);  // becomes standard input
    for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing, stream);
    ::close_range(3, ~0u, 0);
  }
  const int status = WaitFor(child, watched);
  const int killed = KillDescendants(state.daemon(), 5);
  while (::waitpid(-1, nullptr, WNOHANG) > 0) {
  }
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  ReportKilled(WTERMSIG(status), killed);
  return 128 + WTERMSIG(status);
}

}  // namespace graphd::ctl
