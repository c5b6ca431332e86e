// SPDX-License-Identifier: Apache-2.0
#include "tests/support/stopped_thread.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "base/strings.h"

namespace graphd::testing {
namespace {

std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// Returns the addresses, from the first to one after the last, of a process's own code.
std::pair<uint64_t, uint64_t> OwnCode(pid_t process) {
  const std::string program = std::filesystem::read_symlink(StrCat("/proc/", process, "/exe"));
  std::ifstream maps(StrCat("/proc/", process, "/maps"));
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(program) || line.find(" r-xp ") == std::string::npos) continue;
    std::istringstream range(line);
    uint64_t begin = 0, end = 0;
    char dash = 0;
    range >> std::hex >> begin >> dash >> end;
    return {begin, end};
  }
  return {0, 0};
}

}  // namespace

StoppedThread::StoppedThread(pid_t process, const std::string& name, When when) {
  const std::string tasks = StrCat("/proc/", process, "/task");
  // A thread has its name only after it has begun to run.
  EXPECT_TRUE(Await([&] {
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      if (FirstLine(task.path() / "comm") == name) id_ = std::stoi(task.path().filename());
    }
    return id_ != 0;
  })) << "no thread has the name "
      << name;
  const auto [begin, end] = OwnCode(process);
  EXPECT_LT(begin, end);
  // A line with the number of the system call, if the thread is in one; its last word is the
  // address of the next instruction.
  const std::string state = StrCat(tasks, "/", id_, "/syscall");
  const auto stop = [&, begin = begin, end = end] {
    if (::ptrace(PTRACE_SEIZE, id_, nullptr, nullptr) != 0) return false;
    EXPECT_EQ(::ptrace(PTRACE_INTERRUPT, id_, nullptr, nullptr), 0);
    EXPECT_EQ(::waitpid(id_, nullptr, __WALL), id_);
    const std::string line = FirstLine(state);
    const uint64_t at = std::strtoull(line.c_str() + line.rfind(' ') + 1, nullptr, 16);
    const bool idle = std::strtol(line.c_str(), nullptr, 10) == SYS_futex;
    if (when == kIdle ? idle : at >= begin && at < end) return true;
    GoOn();
    return false;
  };
  // Most threads are in their own code only for a small part of their time.
  EXPECT_TRUE(Await(stop, std::chrono::milliseconds(1)));
}

void StoppedThread::GoOn() { ::ptrace(PTRACE_DETACH, id_, nullptr, nullptr); }

void StoppedThread::AwaitEnd() { EXPECT_EQ(::waitpid(id_, nullptr, __WALL), id_); }

}  // namespace graphd::testing
