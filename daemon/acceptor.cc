// SPDX-License-Identifier: Apache-2.0
#include "daemon/acceptor.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"

namespace graphd {

uint64_t ConnectionLimits::reserved_descriptors() const noexcept {
  constexpr uint64_t kMost = 1024;
  return std::min(kMost, descriptors / 2);
}

Acceptor::Acceptor(std::deque<DataThread>& threads, const ConnectionLimits& limits,
                   ConnectionCounters& counters, bool asks_for_users, kj::Timer& timer)
    : threads_(threads),
      limits_(limits),
      counters_(counters),
      asks_for_users_(asks_for_users),
      timer_(timer),
      choice_(threads.size()),
      connections_(*this) {}

bool Acceptor::FindRoom(const UniqueFd& fd, const Peer& peer) {
  // A new descriptor gets the lowest free number, so its number tells how many are in use.
  const auto used = static_cast<uint64_t>(fd.get());
  const bool is_reserved = used >= limits_.descriptors - limits_.reserved_descriptors();
  const bool is_free = counters_.open - open_.giving_way() < limits_.connections;
  if ((is_free && !is_reserved) || MakeRoom(peer)) return true;
  if (is_reserved) {
    counters_.refused_by_descriptors++;
    LogWarning({.peer = peer.LogName(), .op = "connect"}, "refusing ", peer.text, ": ",
               limits_.descriptors - used, " of ", limits_.descriptors,
               " descriptors are free, which are kept for the store; close connections, or ",
               "raise the limit (LimitNOFILE= of the service, ulimit -n)");
  } else {
    counters_.refused_by_limit++;
    LogWarning({.peer = peer.LogName(), .op = "connect"}, "refusing ", peer.text, ": ",
               counters_.open, " connections are open; raise ", "--max_connections");
  }
  return false;
}

bool Acceptor::MakeRoom(const Peer& peer) {
  // Until they have ended, those that give way take descriptors of the store.
  if (open_.giving_way() >= limits_.reserved_descriptors() / 4) return false;
  const auto oldest = open_.MakeRoomFor(peer.Source());
  if (oldest == nullptr) return false;
  // The connection ends before the log gets its line, for which there may be no memory.
  connections_.add(threads_[oldest->thread()].End(oldest));
  counters_.gave_way++;
  LogWarning({.peer = peer.LogName(), .op = "make_room"}, "closing a connection from ",
             oldest->source(), " that has not attached, to make room for ", peer.LogName(), ": ",
             counters_.open, " connections are open; raise ", "--max_connections");
  return true;
}

void Acceptor::Accept(UniqueFd fd, Peer peer) {
  if (peer.text.empty()) return;  // it has closed the connection
  if (!FindRoom(fd, peer)) return;
  const std::shared_ptr<OpenConnection> connection = open_.Add(peer.Source(), choice_.Open());
  counters_.open++;
  counters_.accepted++;
  auto closed = kj::defer([this, connection] {
    counters_.open--;
    choice_.Close(connection->thread());
    open_.Remove(connection);
  });
  const std::string name = peer.LogName();
  connections_.add(Serve(connection, std::move(fd), std::move(peer))
                       .catch_([name](const kj::Exception& exception) {
                         // A misbehaving peer ends its own connection and nothing else.
                         LogWarning({.peer = name, .op = "connection"}, "connection of ", name,
                                    ": ", exception.getDescription().cStr());
                       })
                       .attach(kj::mv(closed)));
}

kj::Promise<void> Acceptor::Serve(std::shared_ptr<OpenConnection> connection, UniqueFd fd,
                                  Peer peer) {
  DataThread& thread = threads_[connection->thread()];
  if (peer.is_unix || !peer.uid || !asks_for_users_) {
    return thread.Serve(std::move(fd), std::move(peer), std::move(connection));
  }
  const uid_t user = *peer.uid;
  return users_.Find(user, timer_)
      .then([&thread, connection = std::move(connection), fd = std::move(fd),
             peer = std::move(peer)](std::vector<gid_t> groups) mutable {
        peer.gids = std::move(groups);
        return thread.Serve(std::move(fd), std::move(peer), std::move(connection));
      });
}

void Acceptor::taskFailed(kj::Exception&& exception) {
  LogWarning({.op = "connection"}, "connection: ", exception.getDescription().cStr());
}

}  // namespace graphd
