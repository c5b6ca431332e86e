// SPDX-License-Identifier: Apache-2.0
#include "daemon/serving/listeners.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

constexpr const char* kKeptTcp = "listener-tcp";
constexpr const char* kKeptUnix = "listener-unix";

bool IsSocketFile(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

Listeners::Listeners(const ListenOptions& options, DescriptorStore& store)
    : store_(store), passed_(store.TakeUnitSockets()) {
  if (!options.address.empty()) {
    ListenOnTcp(options);
  } else {
    store_.Remove(kKeptTcp);
  }
  ListenOnUnix(options);
}

Listeners::~Listeners() {
  if (leaves_) return;
  for (const std::string& name : kept_) DescriptorStore::Discard(name);
}

void Listeners::ListenOnTcp(const ListenOptions& options) {
  const ListeningAddress wanted =
      Listener::ResolveTcp(options.address, options.port, options.beyond_loopback);
  if (UniqueFd fd = TakeOfUnit(wanted)) {
    store_.Remove(kKeptTcp);
    tcp_.emplace(Listener::Adopt(std::move(fd)));
    return;
  }
  // A socket of the unit that has an overlapping address would make listening fail below, so it is
  // refused first, with a better error.
  RefuseOthers(SocketPath(options.runtime_dir, options.server_name, options.port), wanted.text(),
               /*any=*/false);
  if (UniqueFd kept = TakeKept(kKeptTcp, wanted)) {
    tcp_.emplace(Listener::Adopt(std::move(kept)));
    kept_.insert(kKeptTcp);
  } else {
    tcp_.emplace(Listener::BindTcp(options.address, options.port, options.beyond_loopback));
    Keep(kKeptTcp, *tcp_);
  }
}

void Listeners::ListenOnUnix(const ListenOptions& options) {
  const std::string path =
      SocketPath(options.runtime_dir, options.server_name, tcp_ ? tcp_->port() : options.port);
  const ListeningAddress wanted{true, path, 0};
  UniqueFd fd = TakeOfUnit(wanted);
  RefuseOthers(path, tcp_ ? tcp_->text() : "", /*any=*/true);
  if (fd) {
    store_.Remove(kKeptUnix);
    local_.emplace(Listener::Adopt(std::move(fd)));
    Listener::SetMode(path, options.mode);
    return;
  }
  if (UniqueFd kept = TakeKept(kKeptUnix, wanted)) {
    local_.emplace(Listener::Adopt(std::move(kept)));
    local_->TakeFile();
    Listener::SetMode(path, options.mode);
    kept_.insert(kKeptUnix);
    return;
  }
  local_.emplace(Listener::BindUnix(path, options.mode));
  Keep(kKeptUnix, *local_);
}

UniqueFd Listeners::TakeOfUnit(const ListeningAddress& wanted) {
  for (auto socket = passed_.begin(); socket != passed_.end(); ++socket) {
    try {
      if (!wanted.Includes(ListeningAddress::Of(socket->fd.get()))) continue;
    } catch (const Error&) {
      continue;  // RefuseOthers says why
    }
    LogInfo("listening on ", ListeningAddress::Of(socket->fd.get()).text(), ", which ",
            socket->name, " has passed");
    UniqueFd fd = std::move(socket->fd);
    passed_.erase(socket);
    return fd;
  }
  return {};
}

UniqueFd Listeners::TakeKept(const char* name, const ListeningAddress& wanted) {
  UniqueFd fd = store_.Take(name);
  if (!fd) return {};
  std::string reason;
  try {
    const ListeningAddress found = ListeningAddress::Of(fd.get());
    const bool is_same = wanted.Includes(found);
    if (is_same && (!found.is_unix || IsSocketFile(found.host))) return fd;
    reason = is_same ? StrCat("its file ", found.host, " is gone")
                     : StrCat("it listens on ", found.text());
    // This file was made by an earlier process of this daemon.
    if (found.is_unix && !is_same && IsSocketFile(found.host)) ::unlink(found.host.c_str());
  } catch (const Error& error) {
    reason = error.what();
  }
  LogInfo("making a new socket for ", wanted.text(),
          " in place of the one of the previous process: ", reason);
  fd.reset();
  store_.Remove(name);
  // The address of the new socket may include that of the old one, which must therefore be closed
  // first.
  store_.Flush();
  return {};
}

// Gives a socket to the service manager. A failure is only logged; clients then get errors while
// the daemon is replaced.
void Listeners::Keep(const char* name, const Listener& listener) {
  if (!DescriptorStore::available()) return;
  LogFailure("giving a socket to the service manager", [&] {
    store_.Keep(name, listener.fd());
    kept_.insert(name);
  });
}

void Listeners::RefuseOthers(const std::string& unix_path, const std::string& tcp, bool any) const {
  for (const DescriptorStore::UnitSocket& socket : passed_) {
    std::string what;
    try {
      const ListeningAddress address = ListeningAddress::Of(socket.fd.get());
      if (address.is_unix && !any) continue;
      what = StrCat("this server does not listen on ", address.text());
    } catch (const Error& error) {
      what = error.what();
    }
    Throw(ErrorCode::kInvalid, "the socket that ", socket.name, " has passed can't be used: ", what,
          "; write an empty ListenStream= into the socket unit (systemctl edit ", socket.name,
          "), and after it ListenStream=", unix_path,
          tcp.empty() ? std::string()
                      : StrCat(" and, so that clients over TCP wait, too, ListenStream=", tcp),
          "; or go without the unit: systemctl disable --now ", socket.name);
  }
}

void Listeners::LeaveToNextProcess(bool leave) noexcept {
  leaves_ = leave;
  if (!kept_.contains(kKeptUnix)) return;
  leave ? local_->LeaveFile() : local_->TakeFile();
}

}  // namespace graphd
