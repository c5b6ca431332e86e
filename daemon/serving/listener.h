// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-unix.h>

#include <functional>
#include <string>

#include "daemon/access/peer.h"
#include "daemon/serving/daemon_service.h"
#include "daemon/serving/listening_address.h"

namespace graphd {

// A listening socket. It is bound when this object is made, and connections are accepted once
// Accept is called. Owned and used by the main thread.
class Listener {
 public:
  // Parts of the errors of BindTcp that depend on the option which gave the address.
  struct Texts {
    const char* option;
    const char* other_port;       // says where another port can be given
    const char* beyond_loopback;  // the reason to refuse such an address, and the remedy
  };
  static const Texts kListenTexts;  // of --listen

  // Binds to a host's name or address; port 0 takes any free one. Throws Error(kExists) for a port
  // in use, with the remedy; Error(kDenied) for an address beyond loopback unless that is allowed.
  static Listener BindTcp(const std::string& address, uint16_t port, bool beyond_loopback,
                          const Texts& texts = kListenTexts);
  // Returns the address to which BindTcp would bind. Throws as BindTcp does, but not for a port in
  // use.
  static ListeningAddress ResolveTcp(const std::string& address, uint16_t port,
                                     bool beyond_loopback, const Texts& texts = kListenTexts);
  // Binds to a Unix socket of this mode, and makes its directory. Replaces the socket file of a
  // daemon that no longer runs; throws Error(kExists) if a running one answers there.
  static Listener BindUnix(const std::string& path, mode_t mode);
  // Takes over a listening socket that another process has made. Clients of a Unix socket are from
  // now on shown this process as the one that listens. Throws Error(kInvalid) if the socket does
  // not listen.
  static Listener Adopt(UniqueFd fd);
  // Changes the mode of a socket file, which decides who may connect to it. A failure is logged,
  // with the remedy.
  static void SetMode(const std::string& path, mode_t mode) noexcept;

  Listener(Listener&&) = default;
  ~Listener();  // removes the socket file
  // LeaveFile leaves the removal of the socket file to somebody else; after TakeFile, this object
  // removes it.
  void LeaveFile() noexcept { removes_file_ = false; }
  void TakeFile() noexcept { removes_file_ = true; }

  int fd() const noexcept { return fd_.get(); }
  uint16_t port() const noexcept { return address_.port; }
  std::string text() const { return address_.text(); }  // "127.0.0.1:30050", or the path

  // Calls `accepted` with each new connection, until the promise is dropped. A failure is logged,
  // and accepting begins again.
  kj::Promise<void> Accept(kj::UnixEventPort& events, std::function<void(UniqueFd, Peer)> accepted);

 private:
  Listener() = default;
  kj::Promise<void> Loop(kj::UnixEventPort& events, kj::UnixEventPort::FdObserver& observer,
                         std::function<void(UniqueFd, Peer)> accepted);
  UniqueFd fd_;
  ListeningAddress address_;
  bool removes_file_ = true;
};

}  // namespace graphd
