// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/descriptor_store.h"

#include <sys/stat.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr uint64_t kFlushUsec = 5'000'000;

bool IsSocket(int fd) {
  struct stat info {};
  return ::fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

DescriptorStore::DescriptorStore(std::map<std::string, UniqueFd> passed)
    : passed_(std::move(passed)) {
  for (const auto& each : passed_) names_.insert(each.first);
}

DescriptorStore DescriptorStore::FromServiceManager() {
  DescriptorStore store;
  char** names = nullptr;
  const int number = sd_listen_fds_with_names(1, &names);
  if (number < 0) {
    LogWarning("can't take over descriptors of the service manager: ", std::strerror(-number));
    return store;
  }
  for (int i = 0; i < number; i++) {
    const std::string name = names[i];
    std::free(names[i]);
    UniqueFd fd(SD_LISTEN_FDS_START + i);
    if (IsSocket(fd.get()) && name.rfind(kSocketPrefix, 0) != 0) {
      store.unit_sockets_.push_back({name, std::move(fd)});
      continue;
    }
    store.names_.insert(name);
    store.passed_[name] = std::move(fd);
  }
  std::free(names);
  return store;
}

bool DescriptorStore::available() noexcept {
  // NOTIFY_SOCKET alone does not prove that systemd has started this process: children inherit it,
  // and graphctl sets it for daemons that it starts.
  const char* const process = std::getenv("SYSTEMD_EXEC_PID");
  return std::getenv("NOTIFY_SOCKET") != nullptr && process != nullptr &&
         process == StrCat(::getpid());
}

UniqueFd DescriptorStore::Take(const std::string& name) {
  const auto found = passed_.find(name);
  if (found == passed_.end()) return {};
  UniqueFd fd = std::move(found->second);
  passed_.erase(found);
  return fd;
}

void DescriptorStore::Keep(const std::string& name, int fd) {
  if (names_.contains(name)) return;
  // Without FDPOLL=0, the manager would forget a descriptor on which poll(2) reports an error.
  const std::string message = StrCat("FDSTORE=1\nFDPOLL=0\nFDNAME=", name);
  const int result = sd_pid_notify_with_fds(0, 0, message.c_str(), &fd, 1);
  if (result < 0) {
    Throw(ErrorCode::kIo, "the service manager can't keep '", name, "': ", std::strerror(-result));
  }
  names_.insert(name);
}

void DescriptorStore::Remove(const std::string& name) noexcept {
  passed_.erase(name);
  if (names_.erase(name) != 0) Discard(name);
}

void DescriptorStore::Discard(const std::string& name) noexcept {
  const int result = sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name.c_str());
  // These errors mean that the manager is gone; it then keeps nothing.
  if (result < 0 && result != -ECONNREFUSED && result != -ENOENT) {
    LogWarning("the service manager can't close '", name, "': ", std::strerror(-result));
  }
}

bool DescriptorStore::Flush() noexcept { return sd_notify_barrier(0, kFlushUsec) > 0; }

}  // namespace graphd
