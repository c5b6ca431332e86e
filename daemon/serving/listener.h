// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-unix.h>

#include <functional>
#include <string>

#include "daemon/serving/daemon_service.h"

namespace graphd {

// A listening socket: bound when made, accepting once Accept is called. Belongs to the main thread.
class Listener {
 public:
  // host:port by name or literal; port 0 takes any free one. Throws Error(kExists) for a port in
  // use, with the remedy; Error(kDenied) for an address beyond loopback unless `insecure`.
  static Listener BindTcp(const std::string& address, uint16_t port, bool insecure);
  // Removes the socket file of a dead daemon; throws Error(kExists) if a living one answers there.
  // The file gets mode 0660; its directory is made.
  static Listener BindUnix(const std::string& path);

  Listener(Listener&&) = default;
  ~Listener();  // removes the socket file

  uint16_t port() const noexcept { return port_; }
  const std::string& text() const noexcept { return text_; }  // "127.0.0.1:30050", or the path

  // Calls `accepted` with each new connection, until the promise is dropped.
  kj::Promise<void> Accept(kj::UnixEventPort& events, std::function<void(UniqueFd, Peer)> accepted);

 private:
  Listener() = default;
  kj::Promise<void> Loop(kj::UnixEventPort& events, kj::UnixEventPort::FdObserver& observer,
                         std::function<void(UniqueFd, Peer)> accepted);
  UniqueFd fd_;
  std::string text_, path_;
  uint16_t port_ = 0;
};

}  // namespace graphd
