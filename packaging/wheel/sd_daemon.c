// SPDX-License-Identifier: Apache-2.0
// The functions of libsystemd that graphd calls, for wheels: Debian has no static library of it,
// and containers have none at all. The protocol is stable and documented in sd_notify(3),
// sd_listen_fds(3), sd_watchdog_enabled(3); graphctl launch speaks it, too. Differs from libsystemd
// in this: a process can't speak for another one, and NOTIFY_SOCKET can't be a virtual machine's
// socket.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// systemd passes at most so many descriptors in a message.
enum { kMaxDescriptors = 253 };

// Sends a message with descriptors. Returns 1, or a negative error number.
static int Send(const char* path, const char* state, const int* fds, unsigned count) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const size_t length = strlen(path);
  if (path[0] != '/' && path[0] != '@') return -EINVAL;
  if (length < 2) return -EINVAL;
  if (length >= sizeof(address.sun_path)) return -ENAMETOOLONG;
  if (count > kMaxDescriptors) return -E2BIG;
  memcpy(address.sun_path, path, length);
  if (path[0] == '@') address.sun_path[0] = '\0';  // an abstract socket

  struct iovec text = {.iov_base = (char*)state, .iov_len = strlen(state)};
  struct msghdr message = {
      .msg_name = &address,
      .msg_namelen =
          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + (path[0] == '/')),
      .msg_iov = &text,
      .msg_iovlen = 1,
  };
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int) * kMaxDescriptors)];
  } control;
  if (count > 0) {
    memset(&control, 0, sizeof(control));
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(sizeof(int) * count);
    struct cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int) * count);
    memcpy(CMSG_DATA(header), fds, sizeof(int) * count);
  }
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) return -errno;
  const int result = sendmsg(descriptor, &message, MSG_NOSIGNAL) < 0 ? -errno : 1;
  close(descriptor);
  return result;
}

int sd_pid_notify_with_fds(pid_t pid, int unset, const char* state, const int* fds,
                           unsigned count) {
  const char* path = getenv("NOTIFY_SOCKET");
  int result = 0;
  if (!state || (count > 0 && !fds)) {
    result = -EINVAL;
  } else if (path) {
    result = pid != 0 && pid != getpid() ? -EOPNOTSUPP : Send(path, state, fds, count);
  }
  if (unset) unsetenv("NOTIFY_SOCKET");
  return result;
}

int sd_notify(int unset, const char* state) {
  return sd_pid_notify_with_fds(0, unset, state, NULL, 0);
}

int sd_notifyf(int unset, const char* format, ...) {
  char* state;
  va_list arguments;
  va_start(arguments, format);
  const int length = vasprintf(&state, format, arguments);
  va_end(arguments);
  if (length < 0) return -ENOMEM;
  const int result = sd_notify(unset, state);
  free(state);
  return result;
}

static uint64_t Microseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

// The manager closes the descriptor that it gets when it has handled all messages before.
int sd_notify_barrier(int unset, uint64_t timeout) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
  int result = sd_pid_notify_with_fds(0, unset, "BARRIER=1", &ends[1], 1);
  close(ends[1]);
  const uint64_t begin = Microseconds();
  while (result > 0) {
    const uint64_t waited = Microseconds() - begin;
    const uint64_t left = waited < timeout ? (timeout - waited) / 1000 + 1 : 0;
    struct pollfd end = {.fd = ends[0]};
    const int changed = poll(&end, 1, left < INT_MAX ? (int)left : INT_MAX);
    if (changed > 0) break;
    if (changed < 0 && errno != EINTR) result = -errno;
    if (changed == 0 && Microseconds() - begin >= timeout) result = -ETIMEDOUT;
  }
  close(ends[0]);
  return result;
}

// Reads a number of decimal digits that is not greater than `limit`. Returns 0, or a negative error
// number.
static int ReadNumber(const char* text, uint64_t limit, uint64_t* out) {
  if (text[0] == '\0') return -EINVAL;
  *out = 0;
  int result = 0;
  for (const char* digit = text; *digit; ++digit) {
    if (*digit < '0' || *digit > '9') return -EINVAL;
    if (*out > (limit - (uint64_t)(*digit - '0')) / 10) result = -ERANGE;
    *out = *out * 10 + (uint64_t)(*digit - '0');
  }
  return result;
}

// Returns 1 if the variable is this process's number, 0 if it is another one's or is not set.
static int IsThisProcess(const char* variable) {
  const char* text = getenv(variable);
  uint64_t pid;
  if (!text) return 0;
  const int error = ReadNumber(text, INT_MAX, &pid);
  if (error < 0) return error;
  if (pid == 0) return -ERANGE;
  return (pid_t)pid == getpid();
}

static void FreeNames(char** names) {
  for (char** each = names; each && *each; ++each) free(*each);
  free(names);
}

// Splits a list with colons. Returns the number of names, or a negative error number.
static int SplitNames(const char* list, char*** out) {
  int count = 1;
  for (const char* at = list; *at; ++at) count += *at == ':';
  char** names = calloc((size_t)count + 1, sizeof(char*));
  if (!names) return -ENOMEM;
  for (int i = 0; i < count; ++i) {
    const size_t length = strcspn(list, ":");
    names[i] = strndup(list, length);
    if (!names[i]) {
      FreeNames(names);
      return -ENOMEM;
    }
    list += length + 1;
  }
  *out = names;
  return count;
}

static int ListenDescriptors(char*** names) {
  *names = NULL;
  const char* number = getenv("LISTEN_FDS");
  const int own = IsThisProcess("LISTEN_PID");
  if (own <= 0 || !number) return own < 0 ? own : 0;
  uint64_t count;
  const int error = ReadNumber(number, INT_MAX, &count);
  if (error < 0) return error;
  if (count == 0 || count > INT_MAX - SD_LISTEN_FDS_START) return -EINVAL;
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + (int)count; ++fd) {
    const int flags = fcntl(fd, F_GETFD);
    if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0) return -errno;
  }
  const char* list = getenv("LISTEN_FDNAMES");
  if (list) {
    const int found = SplitNames(list, names);
    if (found < 0) return found;
    if ((uint64_t)found != count) return -EINVAL;
  } else {
    *names = calloc(count + 1, sizeof(char*));
    if (!*names) return -ENOMEM;
    for (uint64_t i = 0; i < count; ++i) {
      (*names)[i] = strdup("unknown");
      if (!(*names)[i]) return -ENOMEM;
    }
  }
  return (int)count;
}

int sd_listen_fds_with_names(int unset, char*** names) {
  char** found = NULL;
  const int result = ListenDescriptors(&found);
  if (result <= 0) {
    FreeNames(found);
    found = NULL;
  }
  if (names) {
    if (result >= 0) *names = found;
  } else {
    FreeNames(found);
  }
  if (unset) {
    unsetenv("LISTEN_PID");
    unsetenv("LISTEN_FDS");
    unsetenv("LISTEN_FDNAMES");
  }
  return result;
}

int sd_watchdog_enabled(int unset, uint64_t* microseconds) {
  const char* text = getenv("WATCHDOG_USEC");
  uint64_t value = 0;
  int result = 0;
  if (text) {
    const int own = getenv("WATCHDOG_PID") ? IsThisProcess("WATCHDOG_PID") : 1;
    result = ReadNumber(text, UINT64_MAX, &value);
    if (result == 0) result = value == 0 || value == UINT64_MAX ? -EINVAL : own;
  }
  if (result > 0 && microseconds) *microseconds = value;
  if (unset) {
    unsetenv("WATCHDOG_USEC");
    unsetenv("WATCHDOG_PID");
  }
  return result;
}
