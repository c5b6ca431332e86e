// SPDX-License-Identifier: Apache-2.0
// Functions of glibc that are newer than version 2.27, for programs that were compiled with newer
// headers and run with glibc 2.27 or newer. They are linked in, as hidden symbols. Most of them are
// system calls; pthread_cond_clockwait uses the C library's own function where it has one.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <malloc.h>
#include <pthread.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// A program's constructors are called by the C library since glibc 2.34, and by the program itself
// before. The file Scrt1.o of newer systems leaves them to the library; scripts/wheels makes it
// call this function instead of __libc_start_main, which gives every version of the library what it
// calls.
extern void _init(void) __attribute__((weak));
typedef void Initializer(int, char**, char**);
extern Initializer* const __preinit_array_start[] __attribute__((weak));
extern Initializer* const __preinit_array_end[] __attribute__((weak));
extern Initializer* const __init_array_start[] __attribute__((weak));
extern Initializer* const __init_array_end[] __attribute__((weak));
extern int __libc_start_main(int (*)(int, char**, char**), int, char**, Initializer*,
                             void (*)(void), void (*)(void), void*)
    __attribute__((visibility("default")));

static void RunInitializers(int argc, char** argv, char** envp) {
  for (Initializer* const* each = __preinit_array_start; each != __preinit_array_end; ++each)
    (*each)(argc, argv, envp);
  if (_init) _init();
  for (Initializer* const* each = __init_array_start; each != __init_array_end; ++each)
    (*each)(argc, argv, envp);
}

int graphd_libc_start_main(int (*program)(int, char**, char**), int argc, char** argv,
                           Initializer* initializer, void (*finalizer)(void),
                           void (*loader_finalizer)(void), void* stack_end) {
  (void)initializer;
  return __libc_start_main(program, argc, argv, RunInitializers, finalizer, loader_finalizer,
                           stack_end);
}

// 2.28
int fcntl64(int fd, int command, ...) {
  va_list arguments;
  va_start(arguments, command);
  void* argument = va_arg(arguments, void*);
  va_end(arguments);
  return fcntl(fd, command, argument);
}

// 2.28
int renameat2(int old_dir, const char* old_path, int new_dir, const char* new_path,
              unsigned flags) {
  return (int)syscall(SYS_renameat2, old_dir, old_path, new_dir, new_path, flags);
}

// 2.30
pid_t gettid(void) { return (pid_t)syscall(SYS_gettid); }

// 2.30. Older libraries wait by the system's clock only, as C++ programs of that time did: their
// callers look at the clock again when the wait ends.
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* deadline) {
  typedef int Wait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
  static _Atomic(uintptr_t) found = 0;  // 1 means that the library has no such function
  uintptr_t wait = found;
  if (wait == 0) {
    wait = (uintptr_t)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait");
    if (wait == 0) wait = 1;
    found = wait;
  }
  if (wait != 1) return ((Wait*)wait)(condition, mutex, clock, deadline);
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, deadline);
  if (clock != CLOCK_MONOTONIC || deadline->tv_nsec < 0 || deadline->tv_nsec >= 1000000000)
    return EINVAL;
  struct timespec now, system;
  clock_gettime(CLOCK_MONOTONIC, &now);
  clock_gettime(CLOCK_REALTIME, &system);
  // The deadline can be "never", the greatest number of seconds.
  int64_t seconds = (int64_t)deadline->tv_sec - now.tv_sec;
  const int64_t longest = INT32_MAX;
  if (seconds > longest) seconds = longest;
  if (seconds < -1) seconds = -1;
  system.tv_sec += seconds;
  system.tv_nsec += deadline->tv_nsec - now.tv_nsec;
  if (system.tv_nsec < 0) {
    system.tv_nsec += 1000000000;
    --system.tv_sec;
  } else if (system.tv_nsec >= 1000000000) {
    system.tv_nsec -= 1000000000;
    ++system.tv_sec;
  }
  return pthread_cond_timedwait(condition, mutex, &system);
}

// 2.32. C++ programs may count references without atomic operations if this is true.
char __libc_single_threaded = 0;

// 2.33. The system calls fill the structure of 64-bit programs.
_Static_assert(sizeof(void*) == 8, "struct stat is that of the kernel on 64-bit systems only");
int fstatat(int dir, const char* restrict path, struct stat* restrict out, int flags) {
  return (int)syscall(SYS_newfstatat, dir, path, out, flags);
}
int stat(const char* restrict path, struct stat* restrict out) {
  return fstatat(AT_FDCWD, path, out, 0);
}
int lstat(const char* restrict path, struct stat* restrict out) {
  return fstatat(AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW);
}
int fstat(int fd, struct stat* out) { return (int)syscall(SYS_fstat, fd, out); }
int stat64(const char* restrict, struct stat64* restrict) __attribute__((alias("stat")));
int lstat64(const char* restrict, struct stat64* restrict) __attribute__((alias("lstat")));
int fstat64(int, struct stat64*) __attribute__((alias("fstat")));
int fstatat64(int, const char* restrict, struct stat64* restrict, int)
    __attribute__((alias("fstatat")));
int mknodat(int dir, const char* path, mode_t mode, dev_t device) {
  // The kernel takes 32 bits of a device's number.
  if ((device & 0xffffffff) != device) return errno = EINVAL, -1;
  return (int)syscall(SYS_mknodat, dir, path, mode, (unsigned)device);
}

// 2.33. The older mallinfo counts with 32 bits: what exceeds 4 GiB is left out.
struct mallinfo2 mallinfo2(void) {
  typedef struct mallinfo2 Count(void);
  Count* count = (Count*)dlsym(RTLD_DEFAULT, "mallinfo2");
  if (count) return count();
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  const struct mallinfo counted = mallinfo();
#pragma GCC diagnostic pop
  return (struct mallinfo2){
      .arena = (unsigned)counted.arena,
      .ordblks = (unsigned)counted.ordblks,
      .smblks = (unsigned)counted.smblks,
      .hblks = (unsigned)counted.hblks,
      .hblkhd = (unsigned)counted.hblkhd,
      .usmblks = (unsigned)counted.usmblks,
      .fsmblks = (unsigned)counted.fsmblks,
      .uordblks = (unsigned)counted.uordblks,
      .fordblks = (unsigned)counted.fordblks,
      .keepcost = (unsigned)counted.keepcost,
  };
}

// Does what close_range does with the descriptors that /proc lists. Children call it between fork
// and exec, so that it allocates nothing.
static int CloseListed(unsigned first, unsigned last, int flags) {
  const int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory < 0) return -1;
  struct Entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
  };
  _Alignas(struct Entry) char buffer[4096];
  for (;;) {
    const long read = syscall(SYS_getdents64, directory, buffer, sizeof(buffer));
    if (read <= 0) {
      close(directory);
      return (int)read;
    }
    for (long at = 0; at < read;) {
      const struct Entry* entry = (const struct Entry*)(buffer + at);
      at += entry->length;
      if (entry->name[0] < '0' || entry->name[0] > '9') continue;
      unsigned fd = 0;
      for (const char* digit = entry->name; *digit; ++digit)
        fd = fd * 10 + (unsigned)(*digit - '0');
      if (fd < first || fd > last || fd == (unsigned)directory) continue;
      if (flags & (int)CLOSE_RANGE_CLOEXEC)
        fcntl((int)fd, F_SETFD, FD_CLOEXEC);
      else
        close((int)fd);
    }
  }
}

// 2.34. The system call is of Linux 5.9, and its flag CLOEXEC of Linux 5.11. Older container
// runtimes answer EPERM to system calls that they do not know.
int close_range(unsigned first, unsigned last, int flags) {
#ifdef SYS_close_range
  const long result = syscall(SYS_close_range, first, last, flags);
  if (result == 0 || (errno != ENOSYS && errno != EINVAL && errno != EPERM)) return (int)result;
#endif
  if (first > last || (flags & ~(int)CLOSE_RANGE_CLOEXEC) != 0) return errno = EINVAL, -1;
  return CloseListed(first, last, flags);
}

// 2.36. libstdc++ uses it for std::random_device.
uint32_t arc4random(void) {
  uint32_t out;
  if (getentropy(&out, sizeof(out)) != 0) abort();  // Linux has it since 3.17
  return out;
}
