// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/metrics_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "daemon/serving/thread_watch.h"
#include "wire/ip_config.h"

namespace graphd {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

UniqueFd Connect(const std::string& address) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  to.sin_port = htons(ParseHostPort(address).second);
  UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return fd;
}

std::string Ask(const std::string& address, const std::string& request) {
  const UniqueFd fd = Connect(address);
  EXPECT_EQ(::send(fd.get(), request.data(), request.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(request.size()));
  std::string answer;
  char buffer[4096];
  for (ssize_t got = 0; (got = ::recv(fd.get(), buffer, sizeof buffer, 0)) > 0;) {
    answer.append(buffer, static_cast<size_t>(got));
  }
  return answer;
}

class MetricsEndpointTest : public ::testing::Test {
 protected:
  // The context is behind a pointer because its destructor may throw, a test's may not.
  std::unique_ptr<kj::AsyncIoContext> io_ =
      std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo());
  RequestCounters requests_;
  ConnectionCounters connections_;
};

TEST_F(MetricsEndpointTest, LoadsAndThenShowsItsSource) {
  std::atomic<int> calls{0};
  MetricsEndpoint endpoint("127.0.0.1", 0, false);
  const std::string get = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string loading = Ask(endpoint.text(), get);
  EXPECT_THAT(loading, StartsWith("HTTP/1.1 200"));
  EXPECT_THAT(loading, HasSubstr("graphd_state{state=\"loading\"} 1"));
  endpoint.Serve([&] {
    calls++;
    ServerNumbers numbers{ServerStatus{}, requests_, connections_};
    numbers.status.state = "ready";
    return numbers;
  });
  const Clock::time_point start = Clock::now();
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 8; i++) {
    scrapers.emplace_back([&] {
      for (int k = 0; k < 20; k++) {
        EXPECT_THAT(Ask(endpoint.text(), get), HasSubstr("graphd_state{state=\"ready\"} 1"));
      }
    });
  }
  for (std::thread& each : scrapers) each.join();
  EXPECT_LE(calls, 2 + SecondsSince(start) / 0.1);
}

TEST_F(MetricsEndpointTest, AnEndpointThatHangsIsNoticed) {
  MetricsEndpoint endpoint("127.0.0.1", 0, false);
  std::promise<void> asked, release;
  endpoint.Serve([&]() -> ServerNumbers {
    asked.set_value();
    release.get_future().wait();
    return {ServerStatus{}, requests_, connections_};
  });
  std::thread scraper([&] { Ask(endpoint.text(), "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"); });
  asked.get_future().wait();
  ThreadWatch watch;
  const Clock::time_point now = Clock::now();
  const auto is_well = [&](std::chrono::seconds later) { return watch.Check(now + later); };
  bool well = true;
  constexpr auto kLongest = MetricsEndpoint::kLongestAnswer;
  for (std::chrono::seconds t{0}; t <= kLongest; t++) well = well && is_well(t);
  EXPECT_TRUE(well);
  EXPECT_FALSE(is_well(kLongest + std::chrono::seconds(1)));
  release.set_value();
  scraper.join();
}

TEST_F(MetricsEndpointTest, IsReadyWhileNewJobsAreTaken) {
  MetricsEndpoint endpoint("127.0.0.1", 0, false);
  const auto ask = [&](const std::string& path) {
    return Ask(endpoint.text(), "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
  };
  EXPECT_THAT(ask("/ready"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("\r\n\r\nloading\n")));
  EXPECT_THAT(ask("/live"), StartsWith("HTTP/1.1 200"));
  ServerStatus status;
  std::atomic<bool> is_alive{true};
  // Each source is asked every time, whereas the answers of one are kept for a tenth of a second.
  const auto serve = [&] {
    endpoint.Serve(
        [this, status] {
          return ServerNumbers{status, requests_, connections_};
        },
        [&] { return is_alive.load(); });
  };
  status.state = "ready";
  serve();
  EXPECT_THAT(ask("/ready"), AllOf(StartsWith("HTTP/1.1 200"), HasSubstr("\r\n\r\nready\n")));
  status.drained = {"alice@host-1", "new disks"};
  serve();
  // The name of an operator is not for everybody who may read metrics.
  EXPECT_THAT(ask("/ready"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("drained: new jobs"),
                                   ::testing::Not(HasSubstr("alice"))));
  status.drained.reset();
  status.state = "draining";
  serve();
  EXPECT_THAT(ask("/ready"), AllOf(StartsWith("HTTP/1.1 503"), HasSubstr("\ndraining\n")));
  EXPECT_THAT(ask("/live"), StartsWith("HTTP/1.1 200"));
  is_alive = false;
  EXPECT_THAT(ask("/live"), StartsWith("HTTP/1.1 503"));
  endpoint.Serve([]() -> ServerNumbers { throw Error(ErrorCode::kIo, "no numbers"); });
  EXPECT_THAT(ask("/ready"), StartsWith("HTTP/1.1 500"));
}

// A server that answers each connection with a text, and closes it then if the text is not empty.
class FalsePeer {
 public:
  explicit FalsePeer(std::string text) : text_(std::move(text)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(fd_.get(), generic, length), 0);
    EXPECT_EQ(::listen(fd_.get(), 16), 0);
    EXPECT_EQ(::getsockname(fd_.get(), generic, &length), 0);
    address_ = HostPort("127.0.0.1", ntohs(address.sin_port));
    thread_ = std::thread([this] { Serve(); });
  }
  ~FalsePeer() {
    ::shutdown(fd_.get(), SHUT_RDWR);
    thread_.join();
  }
  const std::string& address() const { return address_; }

 private:
  void Serve() {
    std::vector<UniqueFd> silent;
    for (;;) {
      UniqueFd client(::accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!client) return;
      for (size_t sent = 0; sent < text_.size();) {
        const ssize_t done =
            ::send(client.get(), text_.data() + sent, text_.size() - sent, MSG_NOSIGNAL);
        if (done <= 0) break;
        sent += static_cast<size_t>(done);
      }
      if (text_.empty()) silent.push_back(std::move(client));
    }
  }

  const std::string text_;
  const UniqueFd fd_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
  std::string address_;
  std::thread thread_;
};

std::string HttpAnswer(const std::string& body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

TEST_F(MetricsEndpointTest, TellsWhatOtherServersSayAndWhichDoNotAnswer) {
  const std::string get = "GET /servers HTTP/1.1\r\nHost: x\r\n\r\n";
  auto other = std::make_unique<MetricsEndpoint>("127.0.0.1", 0, false);
  const FalsePeer silent(""), talker(HttpAnswer(std::string(1 << 20, 'x'))),
      closes("no HTTP at all"), odd(HttpAnswer("\"\xff}]"));
  const std::string gone = "127.0.0.1:1", nobody = "no-such-host.invalid:9464";
  Mutex mutex;
  std::vector<std::string> peers = {
      other->text(), silent.address(), talker.address(), closes.address(), odd.address(), gone,
      nobody};
  MetricsEndpoint endpoint("127.0.0.1", 0, false, [&] {
    const MutexLock lock(mutex);
    return peers;
  });
  other->ShowLoading("the other", [] { return std::pair<uint64_t, uint64_t>(3, 12); });
  // Returns what is told of the peers, once it fits.
  const auto peers_when = [&](const auto& fits) {
    const Clock::time_point start = Clock::now();
    for (;;) {
      const std::string answer = Ask(endpoint.text(), get);
      EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
      const auto shown = nlohmann::json::parse(answer.substr(answer.find("\r\n\r\n")));
      EXPECT_EQ(shown["self"]["state"], "loading");
      if (fits(shown["peers"])) return shown["peers"];
      if (SecondsSince(start) > 60) throw std::runtime_error("not within a minute: " + answer);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  };
  auto told = peers_when([](const auto& all) {
    return std::ranges::all_of(
        all, [](const auto& each) { return each.contains("document") || each.contains("error"); });
  });
  ASSERT_EQ(told.size(), 7U);
  const auto document = nlohmann::json::parse(told[0]["document"].get<std::string>());
  EXPECT_EQ(document["server_name"], "the other");
  EXPECT_EQ(document["loading"], (nlohmann::json{{"bytes", 3}, {"total", 12}}));
  EXPECT_FALSE(told[0].contains("error"));
  EXPECT_THAT(std::string(told[1]["error"]), HasSubstr("no answer within"));
  EXPECT_FALSE(told[2].contains("document"));
  EXPECT_FALSE(told[3].contains("document"));
  EXPECT_THAT(std::string(told[4]["document"]), HasSubstr("\"\uFFFD}]"));
  EXPECT_THAT(std::string(told[5]["error"]), HasSubstr("refused"));
  EXPECT_TRUE(told[6].contains("error"));
  // A server that has answered is shown as it was, with the time since it does not.
  other.reset();
  told = peers_when([](const auto& all) { return all[0].contains("silent"); });
  EXPECT_TRUE(told[0].contains("document"));
  EXPECT_GT(told[0]["silent"], 0.0);
  EXPECT_NEAR(told[0]["silent"], told[0]["age"], 0.1);
  {
    const MutexLock lock(mutex);
    peers = {gone};
  }
  EXPECT_EQ(peers_when([](const auto& all) { return all.size() == 1; })[0]["address"], gone);
}

TEST(ToOpenMetrics, ChangesWhatTheFormatsWriteInOtherWays) {
  EXPECT_EQ(ToOpenMetrics(""), "# EOF\n");
  EXPECT_EQ(ToOpenMetrics("# HELP a_total Help of a_total.\n"
                          "# TYPE a_total counter\n"
                          "a_total{b=\"c_total\"} 1\n"
                          "# HELP d_bytes Help.\n"
                          "# TYPE d_bytes histogram\n"
                          "d_bytes_bucket{k=\"x\",le=\"0.5\"} 1\n"
                          "d_bytes_bucket{k=\"x\",le=\"10\"} 2\n"
                          "d_bytes_bucket{k=\"x\",le=\"+Inf\"} 2\n"),
            "# HELP a Help of a_total.\n"
            "# TYPE a counter\n"
            "a_total{b=\"c_total\"} 1\n"
            "# HELP d_bytes Help.\n"
            "# TYPE d_bytes histogram\n"
            "d_bytes_bucket{k=\"x\",le=\"0.5\"} 1\n"
            "d_bytes_bucket{k=\"x\",le=\"10.0\"} 2\n"
            "d_bytes_bucket{k=\"x\",le=\"+Inf\"} 2\n# EOF\n");
}

TEST_F(MetricsEndpointTest, AFailureToCollectIsAnAnswer) {
  MetricsEndpoint endpoint("127.0.0.1", 0, false);
  endpoint.Serve([]() -> ServerNumbers { throw Error(ErrorCode::kIo, "no numbers"); });
  EXPECT_THAT(Ask(endpoint.text(), "GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 500"));
}

TEST_F(MetricsEndpointTest, ANewConnectionTakesThePlaceOfTheOldest) {
  auto endpoint = std::make_unique<MetricsEndpoint>("127.0.0.1", 0, false);
  std::deque<UniqueFd> silent;
  for (size_t i = 0; i < MetricsEndpoint::kMaxConnections; i++) {
    silent.push_back(Connect(endpoint->text()));
  }
  char byte;
  for (int i = 0; i < 100; i++) {
    silent.push_back(Connect(endpoint->text()));
    EXPECT_EQ(::recv(silent.front().get(), &byte, 1, 0), 0);
    silent.pop_front();
  }
  EXPECT_THAT(Ask(endpoint->text(), "GET /metrics HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200"));
  const Clock::time_point start = Clock::now();
  endpoint = nullptr;
  EXPECT_LT(SecondsSince(start), 5);
  for (const UniqueFd& each : silent) EXPECT_EQ(::recv(each.get(), &byte, 1, 0), 0);
}

TEST_F(MetricsEndpointTest, RefusesAddressesBeyondLoopback) {
  try {
    MetricsEndpoint endpoint("0.0.0.0", 0, false);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDenied);
    EXPECT_THAT(error.what(), HasSubstr("--metrics_insecure"));
  }
  MetricsEndpoint endpoint("0.0.0.0", 0, true);
}

}  // namespace
}  // namespace graphd
