// SPDX-License-Identifier: Apache-2.0
// Tests that packaging/wheel/sd_journal.c sends journald what libsystemd sends: the fields of each
// message are compared, at a socket in journald's place. Runs in a mount namespace of its own,
// which needs root. wheel_test.sh links it with the wheels' library; libsystemd is loaded.
#include <dlfcn.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

namespace {

const char kFolder[] = "/run/systemd/journal";

void Check(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s (%s)\n", what.c_str(), std::strerror(errno));
  std::exit(1);
}

int Listen() {
  Check(::unshare(CLONE_NEWNS) == 0, "a mount namespace can't be made");
  Check(::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0, "/ stays shared");
  Check(::mount("run", "/run", "tmpfs", 0, nullptr) == 0, "/run can't be mounted");
  ::mkdir("/run/systemd", 0755);
  ::mkdir(kFolder, 0755);
  const int listener = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", kFolder);
  Check(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0, "no socket");
  return listener;
}

// Returns the next message: a datagram, or the memory that comes with an empty one. Empty if there
// is none.
std::string Receive(int listener) {
  std::string data(8 << 20, '\0');
  char control[CMSG_SPACE(sizeof(int))];
  iovec part{data.data(), data.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t size = ::recvmsg(listener, &message, 0);
  if (size < 0) return "";
  data.resize(static_cast<size_t>(size));
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr) {
    int memory = -1;
    std::memcpy(&memory, CMSG_DATA(header), sizeof memory);
    struct stat status {};
    Check(::fstat(memory, &status) == 0, "no memory");
    data.resize(static_cast<size_t>(status.st_size));
    Check(::pread(memory, data.data(), data.size(), 0) == status.st_size, "memory can't be read");
    ::close(memory);
  }
  return data;
}

// Returns the fields of a message in order, because libsystemd may order them in another way.
std::vector<std::string> Fields(const std::string& message) {
  std::vector<std::string> fields;
  for (size_t at = 0; at < message.size();) {
    const size_t line = message.find('\n', at), equal = message.find('=', at);
    Check(line != std::string::npos, "a field does not end");
    if (equal < line) {
      fields.push_back(message.substr(at, line - at));
      at = line + 1;
      continue;
    }
    uint64_t size = 0;
    std::memcpy(&size, message.data() + line + 1, sizeof size);
    fields.push_back(message.substr(at, line - at) + "=" +
                     message.substr(line + 1 + sizeof size, size));
    at = line + 1 + sizeof size + size + 1;
  }
  std::sort(fields.begin(), fields.end());
  return fields;
}

}  // namespace

int main() {
  void* library = ::dlopen("libsystemd.so.0", RTLD_NOW);
  Check(library != nullptr, "libsystemd.so.0 can't be loaded");
  const auto expected =
      reinterpret_cast<decltype(&sd_journal_sendv)>(::dlsym(library, "sd_journal_sendv"));
  Check(expected != nullptr, "libsystemd.so.0 has no sd_journal_sendv");
  const int listener = Listen();
  const std::string large(3 << 20, 'x'), lines = "MESSAGE=two\nlines=\n";
  const std::vector<std::vector<std::string>> messages{
      {"MESSAGE=hello"},
      {"MESSAGE=hello", "PRIORITY=6", "GRAPHD_SERVER=ogb", "GRAPHD_JOB=a=b"},
      {lines, "PRIORITY=3"},
      {"MESSAGE=", "SYSLOG_IDENTIFIER=other"},
      {"MESSAGE=" + large},
      {lines + large, "PRIORITY=3"},
      {"MESSAGE"},
      {""},
      {"=1"},
      {"message=lower case"},
      {"_PID=1"},
      {"1A=b"},
      {"A B=c"},
      {"MESSAGE=valid", "not valid=1"},
      {std::string(65, 'A') + "=long"},
  };
  int sent = 0;
  for (const auto& message : messages) {
    std::vector<iovec> parts;
    for (const std::string& field : message) {
      parts.push_back({const_cast<char*>(field.data()), field.size()});
    }
    const auto count = static_cast<int>(parts.size());
    const int wanted = expected(parts.data(), count);
    const std::string theirs = Receive(listener);
    const int got = ::sd_journal_sendv(parts.data(), count);
    const std::string ours = Receive(listener);
    const std::string what = "message '" + message[0].substr(0, 30) + "'";
    Check(Receive(listener).empty(), what + ": more than one message");
    // With libsystemd, journald drops the fields with names that are not valid.
    if (wanted == 0 && got == -EINVAL) continue;
    Check(got == wanted,
          what + ": result " + std::to_string(got) + ", not " + std::to_string(wanted));
    Check(Fields(ours) == Fields(theirs), what + ": the fields differ");
    sent += ours.empty() ? 0 : 1;
  }
  Check(sent == 6, std::to_string(sent) + " messages were sent, not 6");
  Check(expected(nullptr, 0) == ::sd_journal_sendv(nullptr, 0), "no fields: the results differ");
  Check(::unlink("/run/systemd/journal/socket") == 0, "the socket can't be removed");
  iovec hello{const_cast<char*>("MESSAGE=hello"), 13};
  Check(expected(&hello, 1) == ::sd_journal_sendv(&hello, 1),
        "without journald, the results differ");
  std::puts("sd_journal_sendv sends what libsystemd sends");
  return 0;
}
