// SPDX-License-Identifier: Apache-2.0
// Tests that packaging/wheel/sd_daemon.c does what libsystemd does, by comparing them in many
// environments. wheel_test.sh links it with the wheels' library; libsystemd is loaded.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace {

using Environment = std::map<std::string, std::string>;

const char* const kVariables[] = {"NOTIFY_SOCKET",  "LISTEN_PID",    "LISTEN_FDS",
                                  "LISTEN_FDNAMES", "WATCHDOG_USEC", "WATCHDOG_PID"};

struct Functions {
  decltype(&sd_notify) notify;
  decltype(&sd_notifyf) notifyf;
  decltype(&sd_pid_notify_with_fds) notify_with_fds;
  decltype(&sd_notify_barrier) barrier;
  decltype(&sd_listen_fds_with_names) listen;
  decltype(&sd_watchdog_enabled) watchdog;
};

void* manager_library = nullptr;

template <typename T>
T Load(const char* name) {
  void* out = ::dlsym(manager_library, name);
  if (out == nullptr) {
    std::fprintf(stderr, "libsystemd.so.0 has no %s\n", name);
    std::exit(1);
  }
  return reinterpret_cast<T>(out);
}

void Set(const Environment& environment) {
  for (const char* each : kVariables) ::unsetenv(each);
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

std::string Left() {
  std::string out;
  for (const char* each : kVariables)
    out += ::getenv(each) != nullptr ? std::string(" ") + each : "";
  return out;
}

std::string Listen(const Functions& functions, int unset) {
  char** names = nullptr;
  const int result = functions.listen(unset, &names);
  std::string out = std::to_string(result);
  for (char** each = names; result > 0 && *each != nullptr; ++each) out += std::string(" ") + *each;
  return out + " flags " + std::to_string(::fcntl(3, F_GETFD)) + ", left:" + Left();
}

std::string Watchdog(const Functions& functions, int unset) {
  uint64_t microseconds = 7;
  const int result = functions.watchdog(unset, &microseconds);
  return std::to_string(result) + " " + std::to_string(microseconds) + ", left:" + Left();
}

// Receives what a function has sent, with the number of descriptors.
std::string Received(int manager) {
  char text[1000];
  alignas(cmsghdr) char control[1000];
  iovec part{text, sizeof(text)};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  const ssize_t size = ::recvmsg(manager, &message, MSG_DONTWAIT);
  if (size < 0) return "nothing";
  size_t descriptors = 0;
  if (const cmsghdr* header = CMSG_FIRSTHDR(&message);
      header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    descriptors = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < descriptors; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(int));
      ::close(fd);
    }
  }
  return std::string(text, static_cast<size_t>(size)) + " with " + std::to_string(descriptors);
}

std::string Notify(const Functions& functions, int unset, int manager) {
  const int fds[] = {0, 1};
  std::string out = std::to_string(functions.notify(0, "READY=1"));
  out += " " + Received(manager);
  out += " " + std::to_string(functions.notifyf(0, "STATUS=%s %d", "loading", 5));
  out += " " + Received(manager);
  out += " " + std::to_string(functions.notify_with_fds(0, 0, "FDSTORE=1\nFDNAME=a", fds, 2));
  out += " " + Received(manager);
  out += " " + std::to_string(functions.barrier(0, 1000));
  out += " " + Received(manager);
  out += " " + std::to_string(functions.notify(unset, "STOPPING=1"));
  return out + " " + Received(manager) + ", left:" + Left();
}

}  // namespace

int main() {
  manager_library = ::dlopen("libsystemd.so.0", RTLD_NOW);
  if (manager_library == nullptr) {
    std::fprintf(stderr, "%s: install libsystemd0\n", ::dlerror());
    return 1;
  }
  const Functions ours{sd_notify,
                       sd_notifyf,
                       sd_pid_notify_with_fds,
                       sd_notify_barrier,
                       sd_listen_fds_with_names,
                       sd_watchdog_enabled};
  const Functions theirs{
      Load<decltype(&sd_notify)>("sd_notify"),
      Load<decltype(&sd_notifyf)>("sd_notifyf"),
      Load<decltype(&sd_pid_notify_with_fds)>("sd_pid_notify_with_fds"),
      Load<decltype(&sd_notify_barrier)>("sd_notify_barrier"),
      Load<decltype(&sd_listen_fds_with_names)>("sd_listen_fds_with_names"),
      Load<decltype(&sd_watchdog_enabled)>("sd_watchdog_enabled"),
  };
  int failed = 0, compared = 0;
  const auto compare = [&](const Environment& environment,
                           const std::function<std::string(const Functions&)>& call) {
    Set(environment);
    const std::string expected = call(theirs);
    Set(environment);
    const std::string found = call(ours);
    ++compared;
    if (found == expected) return;
    ++failed;
    for (const auto& [name, value] : environment)
      std::fprintf(stderr, "%s=%s ", name.c_str(), value.c_str());
    std::fprintf(stderr, "\n  libsystemd: %s\n  ours:       %s\n", expected.c_str(), found.c_str());
  };

  const std::string own = std::to_string(::getpid()), other = std::to_string(::getppid());
  ::dup2(1, 3);
  ::dup2(1, 4);
  for (const int unset : {0, 1}) {
    for (const std::string& pid : {own, other, std::string("x"), std::string("0")}) {
      for (const char* number : {"1", "2", "0", "-1", "x", "", "99999999999", "2147483647"}) {
        for (const char* names : {"-", "", "one", "one:two", "one:", ":", "one:two:three"}) {
          Environment environment{
              {"LISTEN_PID", pid}, {"LISTEN_FDS", number}, {"LISTEN_FDNAMES", names}};
          if (std::strcmp(names, "-") == 0) environment.erase("LISTEN_FDNAMES");
          compare(environment, [&](const Functions& each) {
            ::fcntl(3, F_SETFD, 0);
            return Listen(each, unset);
          });
        }
      }
      for (const char* time : {"1", "10000000", "0", "x", "", "18446744073709551615",
                               "18446744073709551614", "18446744073709551616"}) {
        const auto call = [&](const Functions& each) { return Watchdog(each, unset); };
        compare({{"WATCHDOG_PID", pid}, {"WATCHDOG_USEC", time}}, call);
        compare({{"WATCHDOG_USEC", time}}, call);
        compare({{"WATCHDOG_PID", pid}}, call);
      }
    }
    compare({{"LISTEN_FDS", "1"}}, [&](const Functions& each) { return Listen(each, unset); });
    compare({{"LISTEN_PID", own}}, [&](const Functions& each) { return Listen(each, unset); });
  }

  for (const std::string& path : {"/tmp/sd-daemon-test-" + own, "@sd-daemon-test-" + own}) {
    const int manager = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    if (path[0] == '@') address.sun_path[0] = 0;
    const size_t size = offsetof(sockaddr_un, sun_path) + path.size();
    if (::bind(manager, reinterpret_cast<sockaddr*>(&address), static_cast<socklen_t>(size)) != 0) {
      std::perror(path.c_str());
      return 1;
    }
    for (const int unset : {0, 1}) {
      const auto call = [&](const Functions& each) { return Notify(each, unset, manager); };
      compare({{"NOTIFY_SOCKET", path}}, call);
      for (const char* wrong : {"/tmp/none", "relative", "/", "@", ""})
        compare({{"NOTIFY_SOCKET", wrong}}, call);
      compare({{"NOTIFY_SOCKET", "/" + std::string(200, 'a')}}, call);
      compare({}, call);
    }
    ::close(manager);
    if (path[0] == '/') ::unlink(path.c_str());
  }
  std::printf("compared %d calls with libsystemd, of which %d differ\n", compared, failed);
  return failed == 0 ? 0 : 1;
}
