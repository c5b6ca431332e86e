// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/peer_documents.h"

#include <kj/debug.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/failure.h"
#include "base/strings.h"
#include "wire/ip_config.h"

namespace graphd {

PeerDocuments::PeerDocuments(LoopThread& loop, std::function<std::vector<std::string>()> addresses)
    : loop_(loop),
      addresses_(std::move(addresses)),
      provider_(kj::newAsyncIoProvider(loop.provider())) {}

kj::Promise<void> PeerDocuments::Run() {
  LogFailure("asking other servers for the page", [this] { Tick(); });
  return loop_.timer().afterDelay(kTickMilliseconds * kj::MILLISECONDS).then([this] {
    return Run();
  });
}

void PeerDocuments::Tick() {
  const std::vector<std::string> addresses = addresses_();
  std::erase_if(peers_, [&](const auto& entry) {
    return std::find(addresses.begin(), addresses.end(), entry.first) == addresses.end();
  });
  const bool is_looked_at = looked_ && SecondsSince(*looked_) < kLookedSeconds;
  const double every = is_looked_at ? kEverySeconds : kRarelySeconds;
  auto asked = static_cast<size_t>(std::count_if(
      peers_.begin(), peers_.end(), [](const auto& entry) { return entry.second.is_asked; }));
  // Peers that were asked longest ago come first, so that peers that do not answer cannot keep the
  // others from being asked.
  std::vector<std::pair<Clock::time_point, const std::string*>> due;
  for (const std::string& address : addresses) {
    const Peer& peer = peers_[address];
    const double after = peer.silent_since ? std::max(every, kSilentSeconds) : every;
    if (peer.is_asked || (peer.told && SecondsSince(*peer.told) < after)) continue;
    due.emplace_back(peer.told.value_or(Clock::time_point::min()), &address);
  }
  std::ranges::stable_sort(due, {}, [](const auto& each) { return each.first; });
  for (const auto& [told, address] : due) {
    if (asked++ >= kMostAsked) break;
    Peer& peer = peers_[*address];
    peer.is_asked = true;
    peer.asking = Ask(*address, peer).eagerlyEvaluate(nullptr);
  }
}

void PeerDocuments::Keep(Peer& peer, kj::StringPtr text) {
  size_t others = 0;
  for (const auto& [address, other] : peers_) {
    if (&other != &peer) others += other.document.size();
  }
  if (others + text.size() > kMostBytesOfAll) {
    KJ_FAIL_REQUIRE("the answers of all servers together are too long to be kept");
  }
  peer.document.assign(text.begin(), text.size());
  peer.answered = Clock::now();
  peer.silent_since.reset();
  peer.error.clear();
}

kj::Promise<void> PeerDocuments::Ask(const std::string& address, Peer& peer) {
  auto too_late = loop_.timer().afterDelay(kMostSeconds * kj::SECONDS).then([]() -> kj::String {
    KJ_FAIL_REQUIRE("no answer within a few seconds");
  });
  return kj::evalNow([&] { return Fetch(address); })
      .exclusiveJoin(kj::mv(too_late))
      .then([this, &peer](kj::String text) { Keep(peer, text); })
      .catch_([&peer](kj::Exception&& exception) {
        peer.error = exception.getDescription().cStr();
        constexpr std::string_view kCall = "connect(): ";
        if (peer.error.starts_with(kCall)) peer.error.erase(0, kCall.size());
        if (!peer.silent_since) peer.silent_since = peer.answered.value_or(Clock::now());
      })
      .then([&peer] {
        peer.told = Clock::now();
        peer.is_asked = false;
      });
}

kj::Promise<kj::String> PeerDocuments::Fetch(const std::string& address) {
  auto [host, port] = ParseHostPort(address);
  return provider_->getNetwork()
      .parseAddress(host.c_str(), port)
      .then([](kj::Own<kj::NetworkAddress> found) {
        auto connecting = found->connect();
        return connecting.attach(kj::mv(found));
      })
      .then([this, address](kj::Own<kj::AsyncIoStream> stream) {
        auto client = kj::newHttpClient(table_, *stream);
        kj::HttpHeaders headers(table_);
        headers.set(kj::HttpHeaderId::HOST, kj::str(address.c_str()));
        auto request = client->request(kj::HttpMethod::GET, "/status", headers, uint64_t{0});
        return request.response
            .then([](kj::HttpClient::Response&& response) {
              if (response.statusCode != 200) {
                KJ_FAIL_REQUIRE(
                    "the program at this address is not graphd, or is an older version of it");
              }
              auto text = response.body->readAllText(kMostBytes);
              return text.attach(kj::mv(response.body));
            })
            .attach(kj::mv(request.body))
            .attach(kj::mv(client))
            .attach(kj::mv(stream));
      });
}

std::shared_ptr<const std::string> PeerDocuments::Look() {
  using nlohmann::json;
  if (text_ && SecondsSince(*looked_) < kSameSeconds) return text_;
  looked_ = Clock::now();
  json list = json::array();
  for (const std::string& address : addresses_()) {
    json shown = {{"address", address}};
    if (const auto found = peers_.find(address); found != peers_.end()) {
      const Peer& peer = found->second;
      if (peer.answered) {
        shown["document"] = peer.document;
        shown["age"] = SecondsSince(*peer.answered);
      }
      if (peer.silent_since) {
        shown["error"] = peer.error;
        shown["silent"] = SecondsSince(*peer.silent_since);
      }
    }
    list.push_back(std::move(shown));
  }
  text_ = std::make_shared<const std::string>(
      list.dump(-1, ' ', false, json::error_handler_t::replace));
  return text_;
}

}  // namespace graphd
