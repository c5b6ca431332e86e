// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file.h"

namespace graphd {

// The descriptors that the service manager keeps for this service between two of its processes
// (systemd's file descriptor store, see sd_pid_notify_with_fds(3)): after a crash, a kill by the
// watchdog, `systemctl restart` or an upgrade of the package, the next process gets them. Nothing
// is kept where no service manager runs, or where its unit does not set FileDescriptorStoreMax=.
// The service manager passes the sockets of a socket unit in the same way (sd_listen_fds(3)). Kept
// sockets are told apart from these by their names, which begin with kSocketPrefix.
//
// A name has at most 255 printable ASCII characters without ':'. Used by one thread at a time.
class DescriptorStore {
 public:
  DescriptorStore() = default;
  // Makes a store with these descriptors, by name, as if the service manager had passed them.
  explicit DescriptorStore(std::map<std::string, UniqueFd> passed);
  // Takes over what the service manager passed to this process. Call it once, before threads start,
  // because it changes the environment. If a name occurs twice, one of its descriptors is closed.
  static DescriptorStore FromServiceManager();
  // The beginning of the names under which sockets are kept.
  static constexpr const char* kSocketPrefix = "listener-";
  // A socket of a socket unit, and its name (FileDescriptorName=), which is that of the unit by
  // default.
  struct UnitSocket {
    std::string name;
    UniqueFd fd;
  };

  // Returns whether the service manager that has started this process (systemd from version 248,
  // which says so) may keep descriptors.
  static bool available() noexcept;

  // Moves out the kept descriptor of a name; returns none if there is none. The service manager
  // keeps its own copy until Remove is called for it.
  UniqueFd Take(const std::string& name);
  // Moves out the sockets of a socket unit.
  std::vector<UnitSocket> TakeUnitSockets() { return std::move(unit_sockets_); }
  // Returns the names of all descriptors that the service manager has.
  const std::set<std::string>& names() const noexcept { return names_; }

  // Sends a copy of a descriptor to the service manager, which keeps it. Does nothing if the
  // service manager has one of this name. Throws Error(kIo) if it can't be sent.
  void Keep(const std::string& name, int fd);
  // Asks the service manager to close its copy. A failure is logged.
  void Remove(const std::string& name) noexcept;
  // Does the same as Remove, but leaves names() unchanged. Any thread may call it.
  static void Discard(const std::string& name) noexcept;
  // Waits until the service manager has read all messages, at most 5 s. Returns whether it has.
  bool Flush() noexcept;

 private:
  std::set<std::string> names_;
  std::map<std::string, UniqueFd> passed_;  // those that nobody took
  std::vector<UnitSocket> unit_sockets_;
};

}  // namespace graphd
