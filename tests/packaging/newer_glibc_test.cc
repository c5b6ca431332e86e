// SPDX-License-Identifier: Apache-2.0
// Tests packaging/wheel/newer_glibc.c. wheel_test.sh links it as programs of a wheel are linked,
// and runs it here and with an older glibc. With the argument "old" it tests what is done without
// the newer functions of glibc and of the kernel.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <climits>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>

extern "C" int fcntl64(int, int, ...);
extern char** environ;

namespace {

bool old = false;

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      std::fprintf(stderr, "%s:%d: %s is wrong, errno %d\n", __FILE__, __LINE__, #condition, \
                   errno);                                                                   \
      std::exit(1);                                                                          \
    }                                                                                        \
  } while (false)

// Has a constructor that the compiler can't run.
const std::string process = std::to_string(::getpid());

void TestStart(int argc, char** argv) {
  CHECK(process == std::to_string(::getpid()));
  CHECK(argc >= 1 && argv[argc] == nullptr);
  CHECK(::environ != nullptr && ::getenv("PATH") != nullptr);
  ::setenv("NEWER_GLIBC", "1", 1);
  bool found = false;
  for (char** each = ::environ; *each != nullptr; ++each)
    found |= std::strcmp(*each, "NEWER_GLIBC=1") == 0;
  CHECK(found);
}

void TestFiles(const std::string& folder) {
  const std::string file = folder + "/file", link = folder + "/link", pipe = folder + "/pipe";
  const int fd = ::open(file.c_str(), O_CREAT | O_RDWR, 0640);
  CHECK(fd >= 0 && ::write(fd, "12345", 5) == 5);
  CHECK(::symlink("file", link.c_str()) == 0);
  struct stat by_path {
  }, by_fd{}, by_link{}, of_link{}, at{};
  CHECK(::stat(file.c_str(), &by_path) == 0 && ::fstat(fd, &by_fd) == 0);
  CHECK(::stat(link.c_str(), &by_link) == 0 && ::lstat(link.c_str(), &of_link) == 0);
  CHECK(by_path.st_size == 5 && S_ISREG(by_path.st_mode) && (by_path.st_mode & 0777) == 0640);
  CHECK(std::memcmp(&by_path, &by_fd, sizeof(by_fd)) == 0);
  CHECK(by_link.st_ino == by_path.st_ino && by_link.st_nlink == 1);
  CHECK(S_ISLNK(of_link.st_mode) && of_link.st_size == 4);
  CHECK(::stat((folder + "/none").c_str(), &at) == -1 && errno == ENOENT);
  CHECK(::fstat(-1, &at) == -1 && errno == EBADF);

  const int dir = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY);
  CHECK(::fstatat(dir, "file", &at, 0) == 0 && at.st_ino == by_path.st_ino);
  CHECK(::fstatat(dir, "link", &at, AT_SYMLINK_NOFOLLOW) == 0 && at.st_ino == of_link.st_ino);
  CHECK(::mknodat(dir, "pipe", S_IFIFO | 0600, 0) == 0);
  CHECK(::stat(pipe.c_str(), &at) == 0 && S_ISFIFO(at.st_mode));

  CHECK(::renameat2(dir, "file", dir, "pipe", RENAME_NOREPLACE) == -1 && errno == EEXIST);
  CHECK(::renameat2(dir, "file", dir, "renamed", RENAME_NOREPLACE) == 0);
  CHECK(::fstatat(dir, "renamed", &at, 0) == 0 && at.st_ino == by_path.st_ino);

  const int copy = ::fcntl64(fd, F_DUPFD_CLOEXEC, 100);
  CHECK(copy >= 100 && ::fcntl64(copy, F_GETFD) == FD_CLOEXEC);
  ::close(copy);
  ::close(dir);
  ::close(fd);
  for (const char* name : {"/renamed", "/link", "/pipe"}) ::unlink((folder + name).c_str());
  ::rmdir(folder.c_str());
}

// Makes close_range fail with `error`: with ENOSYS as on Linux before 5.9, with EPERM as in
// containers of that time.
void ForbidCloseRange(uint32_t error) {
  sock_filter steps[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{4, steps};
  CHECK(::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
  CHECK(::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
  CHECK(::syscall(SYS_close_range, 1000, 1000, 0) == -1 && errno == static_cast<int>(error));
}

// Runs in a child, because it closes what the test has open. `error`: that of the system call; 0:
// it works.
void TestCloseRange(uint32_t error) {
  const pid_t child = ::fork();
  if (child == 0) {
    if (error != 0) ForbidCloseRange(error);
    // These are more descriptors than one system call lists of /proc/self/fd.
    for (int fd = 600; fd < 1000; ++fd) CHECK(::dup2(1, fd) == fd);
    CHECK(::close_range(700, 800, CLOSE_RANGE_CLOEXEC) == 0);
    for (int fd = 600; fd < 1000; ++fd) {
      CHECK(::fcntl(fd, F_GETFD) == (fd >= 700 && fd <= 800 ? FD_CLOEXEC : 0));
    }
    CHECK(::close_range(750, UINT_MAX, 0) == 0);
    for (int fd = 600; fd < 1000; ++fd) CHECK((::fcntl(fd, F_GETFD) >= 0) == (fd < 750));
    CHECK(::close_range(5, 4, 0) == -1 && errno == EINVAL);
    CHECK(::close_range(5, 6, 1 << 20) == -1 && errno == EINVAL);
    ::_exit(0);
  }
  int status = -1;
  CHECK(::waitpid(child, &status, 0) == child && status == 0);
}

timespec In(clockid_t clock, int64_t milliseconds) {
  timespec out{};
  ::clock_gettime(clock, &out);
  const int64_t nanoseconds = out.tv_nsec + milliseconds * 1'000'000;
  out.tv_sec += nanoseconds / 1'000'000'000;
  out.tv_nsec = nanoseconds % 1'000'000'000;
  return out;
}

bool Passed(clockid_t clock, const timespec& deadline) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec != deadline.tv_sec ? now.tv_sec > deadline.tv_sec
                                       : now.tv_nsec >= deadline.tv_nsec;
}

void TestConditions() {
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
  ::pthread_mutex_lock(&mutex);
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    for (const int milliseconds : {30, 0}) {
      const timespec deadline = In(clock, milliseconds);
      CHECK(::pthread_cond_clockwait(&condition, &mutex, clock, &deadline) == ETIMEDOUT);
      CHECK(Passed(clock, deadline));
    }
    const timespec no_time{0, 1'000'000'000};
    CHECK(::pthread_cond_clockwait(&condition, &mutex, clock, &no_time) == EINVAL);
  }
  const timespec past{0, 1};
  CHECK(::pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &past) == ETIMEDOUT);
  CHECK(::pthread_cond_clockwait(&condition, &mutex, CLOCK_PROCESS_CPUTIME_ID, &past) == EINVAL);

  for (const int64_t seconds : {int64_t{1} << 40, INT64_MAX}) {
    bool told = false;
    std::thread other([&] {
      ::pthread_mutex_lock(&mutex);
      told = true;
      ::pthread_cond_signal(&condition);
      ::pthread_mutex_unlock(&mutex);
    });
    const timespec never{seconds, 0};
    while (!told) CHECK(::pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &never) == 0);
    ::pthread_mutex_unlock(&mutex);
    other.join();
    ::pthread_mutex_lock(&mutex);
  }
  ::pthread_mutex_unlock(&mutex);

  std::mutex own;
  std::condition_variable changed;
  std::unique_lock lock(own);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(30);
  CHECK(!changed.wait_until(lock, end, [] { return false; }));
  CHECK(std::chrono::steady_clock::now() >= end);
}

void TestOthers() {
  CHECK(::gettid() == ::getpid());
  pid_t of_thread = 0;
  std::thread([&] { of_thread = ::gettid(); }).join();
  CHECK(of_thread > 0 && of_thread != ::getpid());

  std::random_device random;
  CHECK(random() != random() || random() != random());

  const size_t before = ::mallinfo2().uordblks;
  void* block = std::malloc(100'000);
  CHECK(block != nullptr && ::mallinfo2().uordblks >= before + 100'000);
  std::free(block);
  CHECK(::mallinfo2().uordblks < before + 100'000);
}

}  // namespace

// Replaces glibc's function for newer_glibc.c, which looks up with it what glibc has.
extern "C" void* dlsym(void* library, const char* name) noexcept {
  return old ? nullptr
             : ::dlvsym(library, name,
                        std::strcmp(name, "mallinfo2") == 0 ? "GLIBC_2.33" : "GLIBC_2.30");
}

int main(int argc, char** argv) {
  old = argc > 1 && std::strcmp(argv[1], "old") == 0;
  TestStart(argc, argv);
  std::string folder = "/tmp/newer-glibc-XXXXXX";
  CHECK(::mkdtemp(folder.data()) != nullptr);
  TestFiles(folder);
  for (const uint32_t error : {ENOSYS, EPERM}) TestCloseRange(old ? error : 0);
  TestConditions();
  TestOthers();
  return 0;
}
