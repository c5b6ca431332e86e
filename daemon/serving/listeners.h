// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/restart/descriptor_store.h"
#include "daemon/serving/listener.h"

namespace graphd {

// The places where a daemon should listen, as its configuration says.
struct ListenOptions {
  std::string address;  // an address for TCP; empty: not over TCP
  uint16_t port = 0;    // the port for TCP, after which the Unix socket is named, too
  bool beyond_loopback = false;
  std::string runtime_dir, server_name;
  mode_t mode = 0660;  // the mode of the Unix socket
};

// The sockets on which a daemon listens. They come from a socket unit, or the service manager has
// kept them since the daemon's last process, or they are new; the service manager then keeps them,
// too. Clients that connect to a kept socket while no process runs wait for the next one. Owned and
// used by the main thread.
class Listeners {
 public:
  // Throws what Listener throws, and Error(kInvalid), with the remedy, if the socket unit listens
  // elsewhere than the options say.
  Listeners(const ListenOptions& options, DescriptorStore& store);
  // Removes the file of the Unix socket, unless a socket unit has made it, and makes the service
  // manager close the sockets that it keeps. Does neither for sockets that are left to the next
  // process.
  ~Listeners();
  Listeners(const Listeners&) = delete;
  Listeners& operator=(const Listeners&) = delete;

  Listener* tcp() noexcept { return tcp_ ? &*tcp_ : nullptr; }  // null: not over TCP
  Listener& local() noexcept { return *local_; }

  // Decides whether the sockets that the service manager keeps are left to the next process. By
  // default, they are not.
  void LeaveToNextProcess(bool leave) noexcept;

 private:
  // Moves out the socket unit's socket for an address; returns none if there is none.
  UniqueFd TakeOfUnit(const ListeningAddress& wanted);
  // Moves out the kept socket of a name; returns none if there is none or if it listens elsewhere
  // than wanted.
  UniqueFd TakeKept(const char* name, const ListeningAddress& wanted);
  void Keep(const char* name, const Listener& listener);
  void ListenOnTcp(const ListenOptions& options);
  void ListenOnUnix(const ListenOptions& options);
  // Throws Error(kInvalid), with the remedy, if the socket unit has passed a socket that was not
  // taken. If `any` is false, ignores Unix sockets.
  void RefuseOthers(const std::string& unix_path, const std::string& tcp, bool any) const;

  DescriptorStore& store_;
  std::vector<DescriptorStore::UnitSocket> passed_;  // the socket unit's, not taken yet
  std::optional<Listener> tcp_, local_;
  std::set<std::string> kept_;  // names of the sockets that the service manager keeps
  bool leaves_ = false;
};

}  // namespace graphd
