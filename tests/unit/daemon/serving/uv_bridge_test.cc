// SPDX-License-Identifier: Apache-2.0
// Tests of the three rules of embedding libuv in KJ; each fails without its rule.
#include "daemon/serving/uv_bridge.h"

#include <gtest/gtest.h>
#include <kj/async-io.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace graphd {
namespace {

class UvBridgeTest : public ::testing::Test {
 protected:
  UvBridgeTest() : io_(std::make_unique<kj::AsyncIoContext>(kj::setupAsyncIo())) {
    uv_loop_init(&loop_);
    bridge_ = std::make_unique<UvBridge>(io_->unixEventPort, &loop_);
  }
  ~UvBridgeTest() override {
    uv_walk(
        &loop_,
        [](uv_handle_t* h, void*) {
          if (!uv_is_closing(h)) uv_close(h, nullptr);
        },
        nullptr);
    uv_run(&loop_, UV_RUN_DEFAULT);
    bridge_ = nullptr;
    uv_loop_close(&loop_);
  }
  void RunFor(int ms) {
    io_->provider->getTimer().afterDelay(ms * kj::MILLISECONDS).wait(io_->waitScope);
  }

  // Both are behind pointers because their destructors may throw, a test's may not.
  std::unique_ptr<kj::AsyncIoContext> io_;
  uv_loop_t loop_{};
  std::unique_ptr<UvBridge> bridge_;
};

TEST_F(UvBridgeTest, ALevelTriggeredWatcherThatReadsInSmallPiecesReadsEverything) {
  // A pipe holds 60000 bytes; each callback reads 100 of them. KJ sees one edge only.
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_NONBLOCK | O_CLOEXEC), 0);
  const std::string text(60000, 'x');
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), 60000);
  struct State {
    int fd;
    size_t got = 0;
  } state{ends[0]};
  uv_poll_t poll{};
  uv_poll_init(&loop_, &poll, ends[0]);
  poll.data = &state;
  uv_poll_start(&poll, UV_READABLE, [](uv_poll_t* p, int, int) {
    auto* s = static_cast<State*>(p->data);
    char some[100];
    const ssize_t n = ::read(s->fd, some, sizeof some);
    if (n > 0) s->got += static_cast<size_t>(n);
  });
  bridge_->Kick();
  for (int i = 0; i < 100 && state.got < text.size(); i++) RunFor(10);
  EXPECT_EQ(state.got, text.size());
  uv_poll_stop(&poll);
  uv_close(reinterpret_cast<uv_handle_t*>(&poll), nullptr);
  uv_run(&loop_, UV_RUN_NOWAIT);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(UvBridgeTest, TimersStartedOutsideCallbacksFireAfterAKick) {
  uv_timer_t timer{};
  int fired = 0;
  timer.data = &fired;
  uv_timer_init(&loop_, &timer);
  RunFor(20);
  uv_timer_start(
      &timer, [](uv_timer_t* t) { ++*static_cast<int*>(t->data); }, 5, 5);
  bridge_->Kick();
  for (int i = 0; i < 100 && fired < 10; i++) RunFor(50);
  EXPECT_GE(fired, 10);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  uv_run(&loop_, UV_RUN_NOWAIT);
}

TEST_F(UvBridgeTest, AnIdleLoopDoesNotSpin) {
  RunFor(20);
  const uint64_t before = bridge_->turns();
  RunFor(200);  // no active handle: uv_backend_timeout() says 0
  EXPECT_LE(bridge_->turns() - before, 2u);
}

TEST_F(UvBridgeTest, SignalsAndOtherThreadsWakeTheLoop) {
  uv_signal_t signal{};
  uv_async_t async{};
  std::atomic<int> signals = 0, asyncs = 0;
  signal.data = &signals;
  async.data = &asyncs;
  uv_signal_init(&loop_, &signal);
  uv_signal_start(
      &signal, [](uv_signal_t* s, int) { ++*static_cast<std::atomic<int>*>(s->data); }, SIGHUP);
  uv_async_init(&loop_, &async, [](uv_async_t* a) { ++*static_cast<std::atomic<int>*>(a->data); });
  bridge_->Kick();
  RunFor(10);
  // Each is sent when the previous one has arrived, because pending ones of a kind may be merged.
  std::atomic<bool> stop = false;
  std::thread other([&] {
    for (int i = 0; i < 10 && !stop; i++) {
      ::kill(::getpid(), SIGHUP);
      uv_async_send(&async);
      while (!stop && (signals == i || asyncs == i)) ::usleep(1000);
    }
  });
  for (int i = 0; i < 1000 && (signals < 10 || asyncs < 10); i++) RunFor(10);
  stop = true;
  other.join();
  EXPECT_EQ(signals, 10);
  EXPECT_EQ(asyncs, 10);
  uv_close(reinterpret_cast<uv_handle_t*>(&signal), nullptr);
  uv_close(reinterpret_cast<uv_handle_t*>(&async), nullptr);
  uv_run(&loop_, UV_RUN_NOWAIT);
}

}  // namespace
}  // namespace graphd
