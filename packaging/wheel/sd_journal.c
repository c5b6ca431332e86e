// SPDX-License-Identifier: Apache-2.0
// The function of libsystemd by which graphd writes to the journal, for wheels; see sd_daemon.c.
// The protocol is documented (systemd.io/JOURNAL_NATIVE_PROTOCOL).
#define _GNU_SOURCE
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

static const char kIdentifier[] = "SYSLOG_IDENTIFIER=";

// Returns whether the text before the = is a name that journald accepts from programs: of capital
// letters, digits and underscores, with a letter first.
static int IsName(const char* name, size_t length) {
  if (length == 0 || length > 64 || name[0] < 'A' || name[0] > 'Z') return 0;
  for (size_t i = 0; i < length; ++i) {
    const char c = name[i];
    if (!(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && c != '_') return 0;
  }
  return 1;
}

// Appends a field at `at`, if that is not null. Returns its size, or 0 if it is not valid.
static size_t AddField(char* at, const void* field, size_t size) {
  const char* text = field;
  const char* equal = memchr(text, '=', size);
  if (!equal || !IsName(text, (size_t)(equal - text))) return 0;
  const size_t name = (size_t)(equal - text), value = size - name - 1;
  const int is_binary = memchr(text, '\n', size) != NULL;
  const size_t needed = is_binary ? name + 1 + sizeof(uint64_t) + value + 1 : size + 1;
  if (!at) return needed;
  if (is_binary) {
    const uint64_t length = htole64(value);
    memcpy(at, text, name);
    at[name] = '\n';
    memcpy(at + name + 1, &length, sizeof(length));
    memcpy(at + name + 1 + sizeof(length), equal + 1, value);
  } else {
    memcpy(at, text, size);
  }
  at[needed - 1] = '\n';
  return needed;
}

// Sends a message that is too large for a datagram, as memory that can't change any more.
static int SendMemory(int connection, struct msghdr* message) {
  const int memory = memfd_create("graphd-journal", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (memory < 0) return -errno;
  int result = 0;
  const struct iovec all = message->msg_iov[0];
  for (size_t at = 0; at < all.iov_len && result == 0;) {
    const ssize_t written = write(memory, (const char*)all.iov_base + at, all.iov_len - at);
    if (written >= 0) {
      at += (size_t)written;
    } else if (errno != EINTR) {
      result = -errno;
    }
  }
  const int seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (result == 0 && fcntl(memory, F_ADD_SEALS, seals) < 0) result = -errno;
  union {
    struct cmsghdr header;
    char space[CMSG_SPACE(sizeof(int))];
  } control = {.space = {0}};
  message->msg_iov = NULL;
  message->msg_iovlen = 0;
  message->msg_control = &control;
  message->msg_controllen = sizeof(control.space);
  struct cmsghdr* header = CMSG_FIRSTHDR(message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(header), &memory, sizeof(int));
  if (result == 0 && sendmsg(connection, message, MSG_NOSIGNAL) < 0) result = -errno;
  close(memory);
  return result;
}

// As in libsystemd, a machine without journald gets nothing, and that is not an error.
static int Send(struct iovec* all) {
  struct sockaddr_un journal = {.sun_family = AF_UNIX, .sun_path = "/run/systemd/journal/socket"};
  struct msghdr message = {
      .msg_name = &journal, .msg_namelen = sizeof(journal), .msg_iov = all, .msg_iovlen = 1};
  const int connection = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (connection < 0) return -errno;
  const int large = 8 << 20;
  setsockopt(connection, SOL_SOCKET, SO_SNDBUF, &large, sizeof(large));
  int result = sendmsg(connection, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
  if (result == -ENOENT) result = 0;
  if (result == -EMSGSIZE || result == -ENOBUFS) result = SendMemory(connection, &message);
  close(connection);
  return result;
}

int sd_journal_sendv(const struct iovec* fields, int count) {
  if (!fields || count <= 0) return -EINVAL;
  size_t size = sizeof(kIdentifier) + strlen(program_invocation_short_name);
  int has_identifier = 0;
  for (int i = 0; i < count; ++i) {
    const size_t needed = AddField(NULL, fields[i].iov_base, fields[i].iov_len);
    if (needed == 0) return -EINVAL;
    size += needed;
    has_identifier |= fields[i].iov_len >= sizeof(kIdentifier) - 1 &&
                      memcmp(fields[i].iov_base, kIdentifier, sizeof(kIdentifier) - 1) == 0;
  }
  struct iovec all = {.iov_base = malloc(size), .iov_len = 0};
  if (!all.iov_base) return -ENOMEM;
  for (int i = 0; i < count; ++i) {
    all.iov_len +=
        AddField((char*)all.iov_base + all.iov_len, fields[i].iov_base, fields[i].iov_len);
  }
  if (!has_identifier) {
    char* at = (char*)all.iov_base + all.iov_len;
    all.iov_len += sizeof(kIdentifier) + strlen(program_invocation_short_name);
    at = stpcpy(stpcpy(at, kIdentifier), program_invocation_short_name);
    *at = '\n';
  }
  const int result = Send(&all);
  free(all.iov_base);
  return result;
}
