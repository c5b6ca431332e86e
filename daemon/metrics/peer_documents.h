// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <kj/async-io.h>
#include <kj/compat/http.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "wire/loop_thread.h"

namespace graphd {

// The documents in which daemons of other machines describe themselves (server_document.h), for the
// page for people. The daemons are asked over HTTP, at the addresses of their metrics: two seconds
// after the last request while somebody looks at the page, and otherwise after a minute, so that it
// is known since when a daemon has not answered. The documents are not interpreted here. Used on
// the loop's thread only.
class PeerDocuments {
 public:
  // `addresses` returns the addresses that are to be asked now, as host:port.
  PeerDocuments(LoopThread& loop, std::function<std::vector<std::string>()> addresses);
  PeerDocuments(const PeerDocuments&) = delete;
  PeerDocuments& operator=(const PeerDocuments&) = delete;

  // Asks the peers until the promise is dropped: a few at a time, and first those that were asked
  // longest ago.
  kj::Promise<void> Run();
  // Returns what is known about the peers, in the order of the addresses, as a JSON list of
  // objects: "address"; "document", the text of the latest answer, with its "age" in seconds; and,
  // if the peer does not answer, "error" and "silent". The latter is the number of seconds since
  // its last answer or, if it has never answered, since that was first noticed. Notes that somebody
  // looks at the page. The list is made every 0.1 s at most, however many ask for it.
  std::shared_ptr<const std::string> Look();

 private:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 10;  // the largest document
  static constexpr size_t kMostBytesOfAll = size_t{8} << 20;   // the documents together
  static constexpr int64_t kTickMilliseconds = 500, kMostSeconds = 3;
  static constexpr double kLookedSeconds = 10, kEverySeconds = 2, kRarelySeconds = 60;
  static constexpr double kSilentSeconds = 5;  // until a peer that does not answer is asked again
  static constexpr double kSameSeconds = 0.1;
  static constexpr size_t kMostAsked = 16;  // at a time

  struct Peer {
    std::string document, error;
    // The times at which the latest request ended, at which the latest answer came, and since which
    // the peer has not answered.
    std::optional<Clock::time_point> told, answered, silent_since;
    kj::Promise<void> asking = nullptr;
    bool is_asked = false;
  };
  void Tick();
  kj::Promise<void> Ask(const std::string& address, Peer& peer);
  // Stores an answer. Throws kj::Exception if all stored answers together would be too long.
  void Keep(Peer& peer, kj::StringPtr text);
  kj::Promise<kj::String> Fetch(const std::string& address);

  LoopThread& loop_;
  const std::function<std::vector<std::string>()> addresses_;
  kj::Own<kj::AsyncIoProvider> provider_;
  const kj::HttpHeaderTable table_;
  std::optional<Clock::time_point> looked_;
  std::shared_ptr<const std::string> text_;  // the list as of looked_
  std::map<std::string, Peer> peers_;        // by address
};

}  // namespace graphd
