// SPDX-License-Identifier: Apache-2.0
// Replaces the C library's file functions in the program that it is linked into, and records their
// operations below $POWER_ROOT in $POWER_JOURNAL, in order. Syncs are recorded and not done.
// RocksDB, a shared library, calls these functions, too. This file is compiled without sanitizers,
// because they call these functions before they have initialised themselves.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/unit/store/power/power_journal.h"

namespace {

using graphd::store::PowerOp;
using graphd::store::PowerOpKind;

constexpr int kMaxFds = 4096;

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
uint64_t files[kMaxFds];  // number of the file by descriptor; 0 if it is not below the root
uint64_t next_file = 1;
int journal = -2;  // -2 before the first use, -1 if there is none
char root[PATH_MAX];

template <class F>
F Real(F, const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}
#define REAL(name) static const auto real = Real(&::name, #name)

class Locked {
 public:
  Locked() {
    ::pthread_mutex_lock(&mutex);
    if (journal != -2) return;
    const char* path = ::getenv("POWER_JOURNAL");
    const char* below = ::getenv("POWER_ROOT");
    journal = -1;
    if (path == nullptr || below == nullptr) return;
    ::snprintf(root, sizeof root, "%s/", below);
    const auto real_open =
        reinterpret_cast<int (*)(const char*, int, ...)>(::dlsym(RTLD_NEXT, "open"));
    journal = real_open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  }
  ~Locked() { ::pthread_mutex_unlock(&mutex); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;
};

bool Below(const char* path) {
  if (journal < 0) return false;
  const size_t size = ::strlen(root) - 1;
  return ::strncmp(path, root, size) == 0 && (path[size] == '/' || path[size] == '\0');
}

void Put(PowerOpKind kind, const char* a, const char* b, uint64_t file, uint64_t offset,
         const void* data, uint64_t bytes) {
  if (journal < 0) return;
  const PowerOp op{kind,
                   static_cast<uint32_t>(a == nullptr ? 0 : ::strlen(a)),
                   static_cast<uint32_t>(b == nullptr ? 0 : ::strlen(b)),
                   0,
                   file,
                   offset,
                   bytes};
  const iovec pieces[] = {{const_cast<PowerOp*>(&op), sizeof op},
                          {const_cast<char*>(a), op.a_bytes},
                          {const_cast<char*>(b), op.b_bytes},
                          {const_cast<void*>(data), bytes}};
  const auto real_writev =
      reinterpret_cast<ssize_t (*)(int, const iovec*, int)>(::dlsym(RTLD_NEXT, "writev"));
  if (real_writev(journal, pieces, 4) < 0) ::abort();
}

uint64_t FileOf(int fd) { return fd >= 0 && fd < kMaxFds ? files[fd] : 0; }

void Opened(int fd, const char* path, int flags) {
  if (fd < 0 || fd >= kMaxFds) return;
  files[fd] = 0;
  if (!Below(path)) return;
  files[fd] = next_file++;
  Put(PowerOpKind::kOpen, path, nullptr, files[fd], 0, nullptr, 0);
  if ((flags & O_TRUNC) != 0)
    Put(PowerOpKind::kTruncate, nullptr, nullptr, files[fd], 0, nullptr, 0);
}

// Returns the offset of the next write to the descriptor.
uint64_t Position(int fd) {
  if ((::fcntl(fd, F_GETFL) & O_APPEND) != 0) {
    struct stat info {};
    ::fstat(fd, &info);
    return static_cast<uint64_t>(info.st_size);
  }
  return static_cast<uint64_t>(::lseek(fd, 0, SEEK_CUR));
}

void Wrote(int fd, const void* data, ssize_t bytes, uint64_t offset) {
  if (bytes > 0 && FileOf(fd) != 0) {
    Put(PowerOpKind::kWrite, nullptr, nullptr, FileOf(fd), offset, data,
        static_cast<uint64_t>(bytes));
  }
}

void WroteAll(int fd, const iovec* pieces, int count, ssize_t bytes, uint64_t offset) {
  for (int i = 0; i < count && bytes > 0; i++) {
    const auto size = bytes < static_cast<ssize_t>(pieces[i].iov_len)
                          ? bytes
                          : static_cast<ssize_t>(pieces[i].iov_len);
    Wrote(fd, pieces[i].iov_base, size, offset);
    offset += static_cast<uint64_t>(size);
    bytes -= size;
  }
}

int SyncWith(int fd, int (*real)(int)) {
  const Locked locked;
  if (FileOf(fd) == 0) return real(fd);
  Put(PowerOpKind::kSync, nullptr, nullptr, FileOf(fd), 0, nullptr, 0);
  return 0;
}

// Returns the path of a call with a directory's descriptor.
const char* At(int dirfd, const char* path, char* out) {
  if (dirfd == AT_FDCWD || path[0] == '/') return path;
  char link[64];
  ::snprintf(link, sizeof link, "/proc/self/fd/%d", dirfd);
  const ssize_t size = ::readlink(link, out, PATH_MAX - 1);
  if (size < 0) return path;
  ::snprintf(out + size, static_cast<size_t>(PATH_MAX - size), "/%s", path);
  return out;
}

}  // namespace

void PowerMark(uint64_t what, uint64_t number) {
  const Locked locked;
  Put(PowerOpKind::kMark, nullptr, nullptr, what, number, nullptr, 0);
}

extern "C" {

int open(const char* path, int flags, ...) {
  REAL(open);
  va_list list;
  va_start(list, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(list, mode_t) : 0;
  va_end(list);
  const Locked locked;
  const int fd = real(path, flags, mode);
  const int error = errno;
  Opened(fd, path, flags);
  errno = error;
  return fd;
}

ssize_t write(int fd, const void* data, size_t bytes) {
  REAL(write);
  if (FileOf(fd) == 0) return real(fd, data, bytes);
  const Locked locked;
  const uint64_t offset = Position(fd);
  const ssize_t put = real(fd, data, bytes);
  Wrote(fd, data, put, offset);
  return put;
}

ssize_t pwrite(int fd, const void* data, size_t bytes, off_t offset) {
  REAL(pwrite);
  const Locked locked;
  const ssize_t put = real(fd, data, bytes, offset);
  Wrote(fd, data, put, static_cast<uint64_t>(offset));
  return put;
}

ssize_t pwritev(int fd, const iovec* pieces, int count, off_t offset) {
  REAL(pwritev);
  const Locked locked;
  const ssize_t put = real(fd, pieces, count, offset);
  WroteAll(fd, pieces, count, put, static_cast<uint64_t>(offset));
  return put;
}

int ftruncate(int fd, off_t size) noexcept {
  REAL(ftruncate);
  const Locked locked;
  const int result = real(fd, size);
  if (result == 0 && FileOf(fd) != 0) {
    Put(PowerOpKind::kTruncate, nullptr, nullptr, FileOf(fd), static_cast<uint64_t>(size), nullptr,
        0);
  }
  return result;
}

int fsync(int fd) {
  REAL(fsync);
  return SyncWith(fd, real);
}

int fdatasync(int fd) {
  REAL(fdatasync);
  return SyncWith(fd, real);
}

int close(int fd) {
  REAL(close);
  if (FileOf(fd) == 0) return real(fd);
  const Locked locked;
  files[fd] = 0;
  return real(fd);
}

int mkdir(const char* path, mode_t mode) noexcept {
  REAL(mkdir);
  const Locked locked;
  const int result = real(path, mode);
  if (result == 0 && Below(path)) {
    Put(PowerOpKind::kMakeDirectory, path, nullptr, 0, 0, nullptr, 0);
  }
  return result;
}

int rename(const char* from, const char* to) noexcept {
  REAL(rename);
  const Locked locked;
  const int result = real(from, to);
  if (result == 0 && Below(from)) Put(PowerOpKind::kRename, from, to, 0, 0, nullptr, 0);
  return result;
}

int renameat2(int from_fd, const char* from, int to_fd, const char* to, unsigned flags) noexcept {
  REAL(renameat2);
  const Locked locked;
  const int result = real(from_fd, from, to_fd, to, flags);
  if (result == 0 && Below(from)) Put(PowerOpKind::kRename, from, to, 0, 0, nullptr, 0);
  return result;
}

int link(const char* from, const char* to) noexcept {
  REAL(link);
  const Locked locked;
  const int result = real(from, to);
  if (result == 0 && Below(from)) Put(PowerOpKind::kLink, from, to, 0, 0, nullptr, 0);
  return result;
}

int unlink(const char* path) noexcept {
  REAL(unlink);
  const Locked locked;
  const int result = real(path);
  if (result == 0 && Below(path)) Put(PowerOpKind::kRemove, path, nullptr, 0, 0, nullptr, 0);
  return result;
}

int unlinkat(int dirfd, const char* path, int flags) noexcept {
  REAL(unlinkat);
  const Locked locked;
  char buffer[PATH_MAX];
  const char* whole = At(dirfd, path, buffer);
  const int result = real(dirfd, path, flags);
  if (result == 0 && Below(whole)) Put(PowerOpKind::kRemove, whole, nullptr, 0, 0, nullptr, 0);
  return result;
}

int rmdir(const char* path) noexcept {
  REAL(rmdir);
  const Locked locked;
  const int result = real(path);
  if (result == 0 && Below(path)) Put(PowerOpKind::kRemove, path, nullptr, 0, 0, nullptr, 0);
  return result;
}

int remove(const char* path) noexcept {
  REAL(remove);
  const Locked locked;
  const int result = real(path);
  if (result == 0 && Below(path)) Put(PowerOpKind::kRemove, path, nullptr, 0, 0, nullptr, 0);
  return result;
}

}  // extern "C"
