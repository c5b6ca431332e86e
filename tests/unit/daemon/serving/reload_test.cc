// SPDX-License-Identifier: Apache-2.0
// Tests what a real daemon does when its configuration has changed while it serves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"
#include "client/link/control.h"
#include "graphd/dist_graph.h"
#include "tests/support/become_user.h"
#include "tests/support/raw_client.h"
#include "tests/support/served_graph_fixture.h"

namespace graphd::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr std::chrono::milliseconds kReloadLimit{20000};

class Reload : public ::testing::Test {
 protected:
  void Serve(const std::string& text) {
    Write(text);
    served_ = std::make_unique<ServedGraphFixture>(
        HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)), std::vector<std::vector<int>>{{0}},
        1, std::vector<std::string>{"--config", file_});
    for (const std::string& folder : {DirName(served_->runtime_dir()), served_->runtime_dir(),
                                      DirName(served_->socket_path(0))}) {
      ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
    }
  }
  void Write(const std::string& text) const { WriteFileAtomically(file_, text); }
  std::vector<ChangedOption> DoReload() const {
    return ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit)
        ->Reload("alice@host-1");
  }
  std::string ReloadError() const {
    try {
      DoReload();
      return "no error";
    } catch (const Error& error) {
      return StrCat(ErrorCodeName(error.code()), ": ", error.what());
    }
  }
  // Returns the change of an option; an empty key if there is none.
  static ChangedOption Find(const std::vector<ChangedOption>& changes, const std::string& key) {
    for (const ChangedOption& change : changes) {
      if (change.key == key) return change;
    }
    return {};
  }
  // Sets a level, and returns the previous one.
  std::string SetLevel(const std::string& level) const {
    return ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit)
        ->SetLogLevel(level, "alice@host-1");
  }
  void AwaitLog(const std::string& text) const {
    const auto start = Clock::now();
    while (served_->daemon(0).Log().find(text) == std::string::npos) {
      ASSERT_LT(SecondsSince(start), 30) << served_->daemon(0).Log();
      ::usleep(5000);
    }
  }
  // Calls f on a thread of another user of the machine, and returns what it returns, or the error.
  template <class F>
  static std::string AsNobody(const F& f) {
    EXPECT_EQ(::geteuid(), 0U) << "the test changes its user, so it must be run as root";
    std::string text;
    std::thread([&] {
      ASSERT_TRUE(BecomeUser(kNobody));
      try {
        text = f();
      } catch (const Error& error) {
        text = StrCat("error: ", error.what());
      }
    }).join();
    return text;
  }
  std::string StateForNobody() const {
    return AsNobody([&] {
      return ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit)->Status().state;
    });
  }

  ScratchDirectory scratch_;
  const std::string file_ = scratch_ / "hubs.conf";
  std::unique_ptr<ServedGraphFixture> served_;
};

TEST_F(Reload, AppliesWhatCanChangeAndNamesWhatNeedsARestart) {
  Serve("# nothing yet\n");
  EXPECT_TRUE(DoReload().empty());
  Write("max_connections = 77\nnum_servers = 7\n\npeer_memory = \"1GiB\"\nlog_level = \"debug\"\n");
  const auto changes = DoReload();
  const ChangedOption connections = Find(changes, "max_connections");
  EXPECT_EQ(connections.before, "4096");
  EXPECT_EQ(connections.after, "77");
  EXPECT_FALSE(connections.needs_restart);
  EXPECT_EQ(connections.place, file_ + ":1");
  const ChangedOption servers = Find(changes, "num_servers");
  EXPECT_TRUE(servers.needs_restart);
  EXPECT_EQ(servers.after, "7");
  EXPECT_EQ(Find(changes, "peer_memory").place, file_ + ":4");
  EXPECT_EQ(Find(changes, "log_level").before, "info");
  EXPECT_EQ(changes.size(), 4U);
  // An applied option differs no more; the rest does, until the restart.
  const auto again = DoReload();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(again[0].key, "num_servers");
  AwaitLog("num_servers is '7' now");
  EXPECT_EQ(SetLevel("info"), "debug");
}

TEST_F(Reload, RaisesTheMemoryOfIndexes) {
  Serve("index_memory = \"1KiB\"\n");
  const auto out_degree = [&]() -> std::string {
    try {
      const DistGraph graph(Initialize(served_->TrainerOptions(Transport::kTcp)));
      return StrCat(graph.OutDegrees(std::vector<int64_t>{0}).size(), " degree");
    } catch (const Error& error) {
      return error.what();
    }
  };
  EXPECT_THAT(out_degree(), HasSubstr("give graphd a larger --index_memory"));
  Write("index_memory = \"1MiB\"\n");
  EXPECT_FALSE(Find(DoReload(), "index_memory").needs_restart);
  EXPECT_EQ(out_degree(), "1 degree");
}

TEST_F(Reload, GivesAndTakesRights) {
  Serve("");
  EXPECT_THAT(StateForNobody(), StartsWith("error: "));
  Write("allow_read = [\"user:65534\"]\n");
  EXPECT_EQ(Find(DoReload(), "allow_read").after, "user:65534");
  EXPECT_EQ(StateForNobody(), "ready");
  Write("");
  EXPECT_EQ(Find(DoReload(), "allow_read").before, "user:65534");
  EXPECT_THAT(StateForNobody(), StartsWith("error: "));
}

TEST_F(Reload, AttachedClientsWithoutTheirRightAreDisconnected) {
  // The connections are checked every second, however long an answer may wait.
  const std::string long_wait = "write_timeout = 3600\n";
  Serve(long_wait + "allow_read = [\"user:65534\"]\n");
  std::promise<std::string> attached;
  std::promise<void> closed;
  std::string said;
  std::thread reader([&] {  // a client lives on one thread
    said = AsNobody([&] {
      const auto client = ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit);
      client->JoinJob({"job", JobRole::kLauncher, 0, 1, "", "secret"});
      attached.set_value(client->Status().state);
      closed.get_future().wait();
      return client->Status().state;
    });
  });
  std::future<std::string> state = attached.get_future();
  EXPECT_EQ(state.wait_for(kReloadLimit), std::future_status::ready);
  ::sleep(2);  // the first checks find a client that has attached and has its right
  Write(long_wait);
  DoReload();
  AwaitLog("may no longer read this graph; its connection is closed");
  closed.set_value();
  reader.join();
  EXPECT_THAT(said, AllOf(StartsWith("error: "), Not(HasSubstr("may not"))));
}

TEST_F(Reload, AnOperatorWithoutTheRightCanNotCommitAPreparedSwitch) {
  Serve("allow_operate = [\"user:65534\"]\n");
  std::promise<void> prepared, demoted;
  std::string said;
  std::thread operator_thread([&] {  // a client lives on one thread
    said = AsNobody([&] {
      const auto client = ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit);
      client->PrepareSwitch("", "another", "bob@host-1");
      while (!client->ProgressOfSwitch().ready) ::usleep(5000);
      prepared.set_value();
      demoted.get_future().wait();
      try {
        static_cast<void>(client->ProgressOfSwitch());
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kDenied) << error.what();
      }
      client->CommitSwitch();
      return std::string("committed");
    });
  });
  EXPECT_EQ(prepared.get_future().wait_for(kReloadLimit), std::future_status::ready);
  Write("");
  DoReload();
  demoted.set_value();
  operator_thread.join();
  EXPECT_THAT(said, HasSubstr("may not switch the graph"));
}

TEST_F(Reload, AWriterWithoutTheRightCanNotGoOnWithACheckpoint) {
  Serve("allow_write = [\"user:65534\"]\n");
  std::promise<void> prepared, demoted;
  std::thread writer([&] {  // a client lives on one thread
    AsNobody([&] {
      RawClient client(served_->socket_path(0), "job");
      auto prepare = client.session().checkpointsRequest().send().getService().prepareRequest();
      prepare.setName("late");
      prepare.setId("late");
      wire::Making::Client making =
          client.Wait(prepare.send().then([](auto&& answer) { return answer.getMaking(); }));
      prepared.set_value();
      demoted.get_future().wait();
      const auto expect_denied = [&](auto&& request) {
        try {
          client.Wait(request.send().ignoreResult());
          ADD_FAILURE() << "no error";
        } catch (const Error& error) {
          EXPECT_THAT(error.what(), HasSubstr("may not make checkpoints"));
        }
      };
      expect_denied(making.holdRequest());
      expect_denied(making.takeRequest());
      expect_denied(making.addFileRequest());
      expect_denied(making.commitRequest());
      return std::string();
    });
  });
  EXPECT_EQ(prepared.get_future().wait_for(kReloadLimit), std::future_status::ready);
  Write("allow_read = [\"user:65534\"]\n");
  DoReload();
  demoted.set_value();
  writer.join();
}

TEST_F(Reload, AFaultyFileChangesNothingAndIsNamedWithLineAndKey) {
  Serve("log_level = \"info\"\n");
  const auto expect_refused = [&](const std::string& text, const std::string& code, int line,
                                  const std::string& key) {
    Write(text);
    EXPECT_THAT(ReloadError(), AllOf(StartsWith(code + ": "),
                                     HasSubstr(StrCat(file_, ":", line, ": ")), HasSubstr(key)));
    EXPECT_EQ(SetLevel("info"), "info");
  };
  const std::string level = "log_level = \"error\"\n";
  expect_refused(level + "allow_read = [\"user:no-such-user\"]\n", "invalid", 2, "allow_read");
  expect_refused(level + "\nmax_conections = 3\n", "invalid", 3, "max_connections");
  expect_refused(level + "max_connections = \"many\"\n", "invalid", 2, "--max_connections");
  expect_refused(level + "peer_memory = \"1KiB\"\n", "invalid", 2, "--peer_memory");
  expect_refused(level + "weight = [\"user:0=1000\"]\n", "invalid", 2, "--weight");
  expect_refused(level + "write_timeout\n", "invalid", 2, "--write_timeout");
  Write(level + "log_file = \"/no/such/folder/log\"\n");
  EXPECT_THAT(ReloadError(), HasSubstr("/no/such/folder/log"));
  EXPECT_EQ(SetLevel("info"), "info");
  ::unlink(file_.c_str());
  EXPECT_THAT(ReloadError(), Not(HasSubstr("no error")));
}

TEST_F(Reload, SighupReportsToTheLog) {
  Serve("");
  Write("write_timeout = 33\n");
  served_->daemon(0).Signal(SIGHUP);
  AwaitLog("SIGHUP has reloaded the configuration");
  AwaitLog("hubs.conf:1: write_timeout is '33' now, and was '600'");
  Write("nonsense = 1\n");
  served_->daemon(0).Signal(SIGHUP);
  AwaitLog("hubs.conf:1: 'nonsense' is not an option");
  EXPECT_THAT(served_->daemon(0).Log(), HasSubstr("nothing has changed"));
  Write("write_timeout = 33\n");
  EXPECT_TRUE(DoReload().empty());
}

TEST_F(Reload, OpensTheLogFileAgain) {
  const std::string log = scratch_ / "graphd.log";
  Serve("log_file = \"" + log + "\"\n");
  ASSERT_EQ(::rename(log.c_str(), (log + ".1").c_str()), 0);
  EXPECT_TRUE(DoReload().empty());
  EXPECT_THAT(ReadTextFile(log, 1 << 20), HasSubstr("has reloaded the configuration"));
  EXPECT_THAT(ReadTextFile(log + ".1", 1 << 20), HasSubstr("serving"));
}

TEST_F(Reload, LimitsHoldForTheNextConnections) {
  Serve("");
  Write("max_connections = 1\n");
  DoReload();
  // The connection that asked for the reload may still be open.
  std::unique_ptr<ControlClient> first;
  const auto start = Clock::now();
  while (first == nullptr && SecondsSince(start) < 30) {
    try {
      auto client = ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit);
      client->Status();
      first = std::move(client);
    } catch (const Error& error) {
      ASSERT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
    }
  }
  ASSERT_NE(first, nullptr);
  std::thread([&] {
    try {
      ControlClient::ConnectUnix(served_->socket_path(0), kReloadLimit)->Status();
      ADD_FAILURE() << "a second connection was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnavailable) << error.what();
    }
  }).join();
}

}  // namespace
}  // namespace graphd::testing
