// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/process_tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file.h"

namespace graphd::ctl {
namespace {

struct ProcessEntry {
  pid_t pid, parent;
  char state;
  unsigned long long start;  // in ticks since the machine's
};

// The name in /proc/PID/stat may contain any character, so fields are counted from its last ')'.
bool ReadEntry(const char* pid_text, ProcessEntry& entry) {
  const std::string path = std::string("/proc/") + pid_text + "/stat";
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return false;
  char text[512];
  const ssize_t size = ::read(fd.get(), text, sizeof text - 1);
  if (size <= 0) return false;
  text[size] = '\0';
  const char* after_name = std::strrchr(text, ')');
  entry.pid = static_cast<pid_t>(std::atol(pid_text));
  return after_name &&
         std::sscanf(
             after_name,
             ") %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
             &entry.state, &entry.parent, &entry.start) == 3;
}

std::multimap<pid_t, ProcessEntry> ProcessesByParent() {
  std::multimap<pid_t, ProcessEntry> processes;
  std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return processes;
  while (const dirent* item = ::readdir(directory.get())) {
    ProcessEntry entry{};
    if (std::isdigit(static_cast<unsigned char>(item->d_name[0])) &&
        ReadEntry(item->d_name, entry)) {
      processes.emplace(entry.parent, entry);
    }
  }
  return processes;
}

// Returns every living process below `root` (without `root` itself and zombies), except `spared`
// and its descendants.
std::vector<ProcessEntry> LivingBelow(pid_t root, pid_t spared) {
  const auto processes = ProcessesByParent();
  std::vector<ProcessEntry> found;
  std::vector<pid_t> open = {root};
  while (!open.empty()) {
    const pid_t parent = open.back();
    open.pop_back();
    for (auto [at, end] = processes.equal_range(parent); at != end; ++at) {
      const ProcessEntry& entry = at->second;
      if (entry.pid == spared) continue;
      open.push_back(entry.pid);
      if (entry.state != 'Z' && entry.state != 'X') found.push_back(entry);
    }
  }
  return found;
}

// Kills a process, but never a later process with the same number. Returns whether the process was
// still there.
bool Kill(const ProcessEntry& process) {
  const UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!fd && errno == ESRCH) return false;
  ProcessEntry now{};
  if (!ReadEntry(std::to_string(process.pid).c_str(), now) || now.start != process.start) {
    return false;
  }
  // Without a pidfd, because no descriptor is free or a sandbox does not allow pidfds, the signal
  // goes to the number.
  if (!fd) return ::kill(process.pid, SIGKILL) == 0;
  return ::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0) == 0;
}

}  // namespace

int KillDescendants(pid_t spared, double max_seconds) {
  const Clock::time_point start = Clock::now();
  std::set<pid_t> killed;
  while (true) {
    const std::vector<ProcessEntry> alive = LivingBelow(::getpid(), spared);
    for (const ProcessEntry& process : alive) {
      if (Kill(process)) killed.insert(process.pid);
    }
    if (alive.empty() || SecondsSince(start) > max_seconds) return static_cast<int>(killed.size());
    const timespec pause{0, 2'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace graphd::ctl
