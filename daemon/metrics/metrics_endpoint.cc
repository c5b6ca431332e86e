// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/metrics_endpoint.h"

#include <kj/compat/http.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/strings.h"
#include "daemon/metrics/peer_documents.h"
#include "daemon/serving/loop_beat.h"
#include "metrics/page_html.h"
#include "wire/connection.h"

namespace graphd {
namespace {

const Listener::Texts kTexts{
    "--metrics", "with graphd's --metrics",
    "metrics are not encrypted, and whoever asks gets them; give an address of loopback, or "
    "--metrics_insecure if everyone who can reach that address may read them"};

constexpr const char* kPlain = "text/plain; version=0.0.4; charset=utf-8";
constexpr const char* kOpenMetrics = "application/openmetrics-text";
constexpr const char* kOpenMetrics1 = "application/openmetrics-text; version=1.0.0; charset=utf-8";
constexpr const char* kText = "text/plain; charset=utf-8";
constexpr const char* kJson = "application/json";
constexpr const char* kHtml = "text/html; charset=utf-8";
// The page (page.html) may run its own script and ask this endpoint; the browser refuses everything
// else.
constexpr const char* kOnlyItself =
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src "
    "'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Closes each connection after an answer: a scraper comes only every few seconds, and its idle
// connection would take the place of others.
struct CloseAfterAnswer final : kj::HttpServerCallbacks {
  bool shouldClose() override { return true; }
};

// The part of the endpoint that lives on its thread.
class Server final : private kj::HttpService {
 public:
  Server(MetricsPage& page, Listener& listener, LoopThread& loop, MetricsEndpoint::Peers peers)
      : page_(page), listener_(listener), loop_(loop), peers_(loop, std::move(peers)) {}

  // Accepts connections until the promise is dropped.
  kj::Promise<void> Run() {
    return listener_.Accept(loop_.events(), [this](UniqueFd fd, const Peer&) {
      Admit(WrapSocket(loop_.provider(), std::move(fd), false));
    });
  }

 private:
  struct Connection {
    bool done = false;
    kj::Promise<void> serving = nullptr;
  };

  void Admit(kj::Own<kj::AsyncIoStream> stream) {
    std::erase_if(connections_, [](const auto& each) { return each->done; });
    if (connections_.size() >= MetricsEndpoint::kMaxConnections) connections_.pop_front();
    Connection& added = *connections_.emplace_back(std::make_unique<Connection>());
    added.serving =
        http_.listenHttp(kj::mv(stream))
            .exclusiveJoin(loop_.timer().afterDelay(MetricsEndpoint::kMaxSeconds * kj::SECONDS))
            .catch_([](const kj::Exception&) {})  // the scraper's own problem
            .then([&added] { added.done = true; })
            .eagerlyEvaluate(nullptr);
  }

  kj::Promise<void> request(kj::HttpMethod method, kj::StringPtr url, const kj::HttpHeaders& wanted,
                            kj::AsyncInputStream&, Response& response) override {
    kj::HttpHeaders headers(*table_);
    if (method != kj::HttpMethod::GET && method != kj::HttpMethod::HEAD) {
      headers.add("Allow", "GET, HEAD");
      headers.set(kj::HttpHeaderId::CONTENT_TYPE, kText);
      return Send(response, headers, "use GET or HEAD\n", 405, "Method Not Allowed");
    }
    if (url == "/") {
      headers.set(kj::HttpHeaderId::CONTENT_TYPE, kHtml);
      headers.add("Content-Security-Policy", kOnlyItself);
      return Send(response, headers, kPageHtml);
    }
    if (url == "/status" || url == "/servers") {
      headers.set(kj::HttpHeaderId::CONTENT_TYPE, kJson);
      std::string own = AsKj([this] { return page_.Document(); });
      if (url == "/status") return Send(response, headers, std::move(own));
      return SendServers(response, headers, std::move(own), AsKj([this] { return peers_.Look(); }));
    }
    if (url == "/ready") {
      const Readiness readiness = AsKj([this] { return page_.IsReady(); });
      return SendState(response, readiness.is_ready, readiness.text);
    }
    if (url == "/live") {
      const bool is_alive = AsKj([this] { return page_.IsAlive(); });
      return SendState(response, is_alive, is_alive ? "alive" : "a thread hangs; the log names it");
    }
    if (url != "/metrics" && !url.startsWith("/metrics?")) {
      headers.set(kj::HttpHeaderId::CONTENT_TYPE, kText);
      return Send(response, headers,
                  "metrics are at /metrics, a page at /, states at /ready, /live and /status\n",
                  404, "Not Found");
    }
    // Scrapers that understand OpenMetrics name it in this header, and prefer it.
    bool open = false;
    KJ_IF_MAYBE (accepted, wanted.get(accept_)) {
      open = std::string_view(accepted->cStr()).find(kOpenMetrics) != std::string_view::npos;
    }
    std::string text = AsKj([this] { return page_.Text(); });
    if (open) text = ToOpenMetrics(text);
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, open ? kOpenMetrics1 : kPlain);
    return Send(response, headers, std::move(text));
  }

  // Answers the question whether the daemon is in a state: by a code for programs and a line for
  // people.
  kj::Promise<void> SendState(Response& response, bool has_it, const std::string& text) {
    kj::HttpHeaders headers(*table_);
    headers.set(kj::HttpHeaderId::CONTENT_TYPE, kText);
    return Send(response, headers, text + "\n", has_it ? 200 : 503,
                has_it ? "OK" : "Service Unavailable");
  }

  // Answers with this server's own document and the list of its peers' documents, which all
  // connections share.
  kj::Promise<void> SendServers(Response& response, const kj::HttpHeaders& headers, std::string own,
                                std::shared_ptr<const std::string> peers) {
    struct Text {
      std::string begin;
      std::shared_ptr<const std::string> peers;
      kj::ArrayPtr<const kj::byte> pieces[3];
    };
    auto text = kj::heap<Text>();
    text->begin = StrCat("{\"self\":", own, ",\"peers\":");
    text->peers = std::move(peers);
    const auto bytes = [](std::string_view from) {
      return kj::arrayPtr(reinterpret_cast<const kj::byte*>(from.data()), from.size());
    };
    text->pieces[0] = bytes(text->begin);
    text->pieces[1] = bytes(*text->peers);
    text->pieces[2] = bytes("}");
    auto body = response.send(200, "OK", headers, text->begin.size() + text->peers->size() + 1);
    kj::Promise<void> written = body->write(kj::arrayPtr(text->pieces, 3));
    return written.attach(kj::mv(body), kj::mv(text));
  }

  kj::Promise<void> Send(Response& response, const kj::HttpHeaders& headers, std::string text,
                         unsigned code = 200, kj::StringPtr status = "OK") {
    auto body = response.send(code, status, headers, text.size());
    auto kept = kj::heap(std::move(text));
    kj::Promise<void> written = body->write(kept->data(), kept->size());
    return written.attach(kj::mv(body), kj::mv(kept));
  }

  kj::HttpServerSettings Settings() {
    kj::HttpServerSettings settings;
    settings.callbacks = close_;
    settings.pipelineTimeout = 0 * kj::SECONDS;  // else KJ waits for the client to close
    return settings;
  }

  MetricsPage& page_;
  Listener& listener_;
  LoopThread& loop_;
  PeerDocuments peers_;
  kj::Promise<void> asking_ = peers_.Run().eagerlyEvaluate(nullptr);
  CloseAfterAnswer close_;
  kj::HttpHeaderTable::Builder names_;
  const kj::HttpHeaderId accept_ = names_.add("Accept");
  const kj::Own<kj::HttpHeaderTable> table_ = names_.build();
  kj::HttpServer http_{loop_.timer(), *table_, *this, Settings()};
  std::deque<std::unique_ptr<Connection>> connections_;  // the oldest first
};

}  // namespace

void MetricsEndpoint::CheckAddress(const std::string& address, uint16_t port,
                                   bool beyond_loopback) {
  Listener::ResolveTcp(address, port, beyond_loopback, kTexts);
}

MetricsEndpoint::MetricsEndpoint(const std::string& address, uint16_t port, bool beyond_loopback,
                                 Peers peers)
    : listener_(Listener::BindTcp(address, port, beyond_loopback, kTexts)),
      beating_(BeatOf(loop_, "metrics", kLongestAnswer)),
      serving_(loop_.executor().executeAsync([this, peers = std::move(peers)]() mutable {
        auto server = kj::heap<Server>(page_, listener_, loop_, std::move(peers));
        auto accepting = server->Run();
        return accepting.attach(kj::mv(server));
      })) {}

}  // namespace graphd
