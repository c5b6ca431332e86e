// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/strings.h"
#include "store/memory_keeper.h"
#include "tests/unit/format/scratch_directory.h"
#include "tests/unit/store/child_environment.h"

// A keeper of memory for tests that kill processes: the test itself. It passes what it has to the
// next process, as a service manager does.

namespace graphd::store::testing {

// A tmpfs that is mounted for one process: each call of MountAgain takes its path away.
class PrivateTmpfs {
 public:
  explicit PrivateTmpfs(std::string size = "size=256m") : size_(std::move(size)) { Mount(); }
  ~PrivateTmpfs() { ::umount2(path().c_str(), MNT_DETACH); }
  PrivateTmpfs(const PrivateTmpfs&) = delete;
  PrivateTmpfs& operator=(const PrivateTmpfs&) = delete;
  std::string path() const { return scratch_.path(); }
  void MountAgain() {
    ::umount2(path().c_str(), MNT_DETACH);
    Mount();
  }

 private:
  void Mount() {
    if (::mount("tmpfs", path().c_str(), "tmpfs", 0, (size_ + ",mode=1777").c_str()) != 0) {
      throw std::runtime_error("can't mount a tmpfs; this test needs root");
    }
  }
  const std::string size_;
  const graphd::testing::ScratchDirectory scratch_;
};

// A message to the keeper, which is sent together with a descriptor.
struct KeeperMessage {
  bool keeps = false;
  char name[64] = {};
};

inline void SendToKeeper(int socket, bool keeps, const std::string& name, int fd) {
  KeeperMessage message{keeps, {}};
  std::strncpy(message.name, name.c_str(), sizeof message.name - 1);
  iovec part{&message, sizeof message};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  if (fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    std::memcpy(CMSG_DATA(rights), &fd, sizeof fd);
  }
  if (::sendmsg(socket, &header, 0) < 0) std::abort();
}

// The keeper in the process that is killed. `at` is called at each point where a test may kill it:
// before and after "keep" and "remove", and at the "end", when all is in RocksDB.
class ChildKeeper final : public MemoryKeeper {
 public:
  std::function<void(const std::string& point)> at = [](const std::string&) {};
  bool follows = false;

  UniqueFd Take(const std::string& name) override {
    for (const std::string& each : Split(std::getenv("TEST_KEEPER_PASSED"), ',')) {
      if (each.rfind(name + "=", 0) != 0) continue;
      return UniqueFd(::dup(std::atoi(each.substr(name.size() + 1).c_str())));
    }
    return {};
  }
  std::string Keep(const std::string& name, int fd) override {
    at("before keep");
    SendToKeeper(socket_, true, name, fd);
    at("after keep");
    return {};
  }
  void Remove(const std::string& name) noexcept override {
    at("before remove");
    SendToKeeper(socket_, false, name, -1);
    at("after remove");
  }
  bool passes_descriptors() const noexcept override { return true; }
  bool next_process_follows() const noexcept override {
    at("end");
    return follows;
  }

 private:
  const int socket_ = std::atoi(std::getenv("TEST_KEEPER_SOCKET"));
};

// The keeper in the test's process.
class ParentKeeper final : public MemoryKeeper {
 public:
  std::map<std::string, UniqueFd> kept;
  bool follows = false;
  std::string refusal;  // Keep returns it

  // Begin is called before the fork, InChild in the child before it executes a program, and End
  // after it was killed.
  void Begin(ChildEnvironment& environment) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) std::abort();
    own_ = UniqueFd(ends[0]);
    childs_ = UniqueFd(ends[1]);
    std::string passed;
    for (const auto& [name, fd] : kept) passed += StrCat(name, "=", fd.get(), ",");
    environment.Set("TEST_KEEPER_PASSED", passed);
    environment.Set("TEST_KEEPER_SOCKET", std::to_string(childs_.get()));
  }
  void InChild() const {
    for (const auto& [name, fd] : kept) ::fcntl(fd.get(), F_SETFD, 0);  // stays open
    ::fcntl(childs_.get(), F_SETFD, 0);
  }
  void End() {
    childs_.reset();
    for (;;) {
      KeeperMessage message;
      iovec part{&message, sizeof message};
      int fd = -1;
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      if (::recvmsg(own_.get(), &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) <= 0) break;
      if (const cmsghdr* rights = CMSG_FIRSTHDR(&header)) {
        std::memcpy(&fd, CMSG_DATA(rights), sizeof fd);
      }
      if (message.keeps) {
        kept[message.name] = UniqueFd(fd);
      } else {
        kept.erase(message.name);
      }
    }
    own_.reset();
  }

  UniqueFd Take(const std::string& name) override {
    const auto found = kept.find(name);
    return found == kept.end() ? UniqueFd() : UniqueFd(::dup(found->second.get()));
  }
  std::string Keep(const std::string& name, int fd) override {
    if (refusal.empty()) kept[name] = UniqueFd(::dup(fd));
    return refusal;
  }
  void Remove(const std::string& name) noexcept override { kept.erase(name); }
  bool passes_descriptors() const noexcept override { return true; }
  bool next_process_follows() const noexcept override { return follows; }

 private:
  UniqueFd own_, childs_;
};

}  // namespace graphd::store::testing
