// SPDX-License-Identifier: Apache-2.0
// Tests of what a job can do to another one of the same user, with calls that the library would
// not make.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "base/file.h"
#include "daemon/requests/job_file.h"
#include "graphd/tensor_spec.h"
#include "store/rows/apply_rule.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"

namespace graphd::testing {
namespace {

constexpr uint64_t kVeryHigh = uint64_t{1} << 62;

// The session of a job on a daemon of one partition. Its calls name tables by their numbers.
class RawJob {
 public:
  RawJob(const std::string& socket_path, const std::string& job, const std::string& secret)
      : connection_(*io_.lowLevelProvider, {ConnectUnix(socket_path, 5000), true},
                    BufferPool::Create()),
        session_(Attach(job, secret)) {}

  wire::Session::Client& session() { return session_; }
  // Sends a request; returns the code of its error, or "no error".
  template <class Request>
  std::string Send(Request&& request) {
    try {
      request.send().wait(io_.waitScope);
      return "no error";
    } catch (const kj::Exception& exception) {
      const Error error = FromKj(exception, "the daemon");
      last_error_ = error.what();
      return ErrorCodeName(error.code());
    }
  }
  const std::string& last_error() const noexcept { return last_error_; }
  // Creates a tensor with a float for each node, and returns the number of its table.
  uint32_t Create(const std::string& name, bool persistent, TensorWriters writers) {
    auto request = session_.openTensorRequest();
    auto spec = request.initSpec();
    spec.setName(name);
    spec.setPersistent(persistent);
    spec.setDtype(static_cast<uint8_t>(DType::kFloat32));
    spec.setRows(-1);
    spec.setWriters(static_cast<uint8_t>(writers));
    request.setCreate(true);
    return request.send().wait(io_.waitScope).getInfo().getTable();
  }
  // Adds 1 to row 7, as the client {1, 2} whose last push had a smaller number.
  std::string AddOne(uint32_t table, uint64_t sequence) {
    auto request = session_.pushRequest();
    request.setTable(table);
    request.initRule().setKind(static_cast<uint8_t>(UpdateKind::kAdd));
    auto client = request.initClient();
    client.setHigh(1);
    client.setLow(2);
    request.setSequence(sequence);
    request.setIds(capnp::Data::Reader(kId.data(), kId.size()));
    constexpr float kOne = 1;
    std::memcpy(request.initPayload(sizeof kOne).begin(), &kOne, sizeof kOne);
    return Send(kj::mv(request));
  }
  float Row(uint32_t table) {
    const auto answer = ReadRow(table).send().wait(io_.waitScope);
    float value = 0;
    std::memcpy(&value, answer.getRows().begin(), sizeof value);
    return value;
  }
  capnp::Request<wire::Session::ReadRowsParams, wire::Session::ReadRowsResults> ReadRow(
      uint32_t table) {
    auto request = session_.readRowsRequest();
    request.setTable(table);
    request.setIds(capnp::Data::Reader(kId.data(), kId.size()));
    return request;
  }
  std::string Drop(uint32_t table) {
    auto request = session_.dropTensorRequest();
    request.setTable(table);
    return Send(kj::mv(request));
  }
  std::string Lease(uint32_t table) {
    auto request = session_.leaseRequest();
    request.setTable(table);
    request.setHold(true);
    return Send(kj::mv(request));
  }

 private:
  static constexpr std::array<kj::byte, 4> kId{7, 0, 0, 0};

  wire::Session::Client Attach(const std::string& job, const std::string& secret) {
    auto request = connection_.Bootstrap().attachRequest();
    WriteHello(request.initHello());
    auto member = request.initMember();
    member.setJobId(job);
    member.setSecret(secret);
    member.setRole(wire::Role::LAUNCHER);
    member.setWorldSize(1);
    return request.send().wait(io_.waitScope).getSession();
  }

  std::string last_error_;
  kj::AsyncIoContext io_ = kj::setupAsyncIo();
  Connection connection_;
  wire::Session::Client session_;
};

// Calls f on a thread of its own, because each job has an event loop.
template <class F>
void InThread(F&& f) {
  std::thread(std::forward<F>(f)).join();
}

class OtherJob : public ::testing::Test {
 protected:
  // Tries to attach as the victim, with wrong secrets.
  void ExpectRefused() const {
    InThread([&] {
      for (const char* guess : {"", "wrong", "secret2", "secre"}) {
        try {
          RawJob(served_.socket_path(0), "victim", guess);
          ADD_FAILURE() << guess;
        } catch (const kj::Exception& exception) {
          EXPECT_EQ(FromKj(exception, "the daemon").code(), ErrorCode::kDenied);
        }
      }
    });
  }
  // Waits until the daemon has stored the job's credentials.
  void AwaitJobFile(const std::string& job) const {
    const std::string path = DirName(served_.runtime_dir()) + "/state/hubs/part-0.jobs";
    const auto start = Clock::now();
    while (!FileExists(path) || !JobFile::FromText(ReadTextFile(path)).contains(job)) {
      ASSERT_LT(SecondsSince(start), 20) << "no " << path;
      ::usleep(1000);
    }
  }

  ServedGraphFixture served_{HomogeneousGraph(1000, RandomMultigraph(1000, 5000, 1)),
                             std::vector<std::vector<int>>{{0}}, 1};
};

TEST_F(OtherJob, CanNeitherReadNorChangeNorDropATensorOfTheVictim) {
  RawJob victim(served_.socket_path(0), "victim", "secret");
  const uint32_t own = victim.Create("own", false, TensorWriters::kExclusive);
  const uint32_t leased = victim.Create("leased", true, TensorWriters::kExclusive);
  EXPECT_EQ(victim.Lease(leased), "no error");
  EXPECT_EQ(victim.AddOne(own, 1), "no error");
  EXPECT_EQ(victim.AddOne(leased, 1), "no error");
  InThread([&] {
    RawJob attacker(served_.socket_path(0), "attacker", "");
    EXPECT_EQ(attacker.Send(attacker.ReadRow(own)), "not_found");
    EXPECT_EQ(attacker.AddOne(own, 1), "not_found");
    EXPECT_EQ(attacker.Drop(own), "not_found");
    EXPECT_EQ(attacker.Lease(leased), "denied");
    EXPECT_EQ(attacker.AddOne(leased, 1), "denied");
    EXPECT_EQ(attacker.Drop(leased), "denied");
    auto state = attacker.session().prepareStateRequest();
    state.setTable(leased);
    state.setState(static_cast<uint8_t>(OptimizerState::kAdam));
    EXPECT_EQ(attacker.Send(kj::mv(state)), "denied");
  });
  EXPECT_EQ(victim.Row(own), 1);
  EXPECT_EQ(victim.Row(leased), 1);
}

TEST_F(OtherJob, CanNotMakeThePushesOfTheVictimVanish) {
  RawJob victim(served_.socket_path(0), "victim", "secret");
  const uint32_t shared = victim.Create("shared", true, TensorWriters::kMany);
  EXPECT_EQ(victim.AddOne(shared, 1), "no error") << victim.last_error();
  InThread([&] {
    RawJob attacker(served_.socket_path(0), "attacker", "");
    EXPECT_EQ(attacker.AddOne(shared, kVeryHigh), "no error");
  });
  EXPECT_EQ(victim.AddOne(shared, 2), "no error");
  EXPECT_EQ(victim.Row(shared), 3);
}

TEST_F(OtherJob, CanNotAttachAsTheVictim) {
  RawJob victim(served_.socket_path(0), "victim", "secret");
  ExpectRefused();
}

TEST_F(OtherJob, CanNotAttachAsTheVictimAfterTheDaemonWasKilled) {
  uint32_t leased = 0;
  InThread([&] {
    RawJob victim(served_.socket_path(0), "victim", "secret");
    leased = victim.Create("leased", true, TensorWriters::kExclusive);
    EXPECT_EQ(victim.Lease(leased), "no error");
    EXPECT_EQ(victim.AddOne(leased, 1), "no error");
    AwaitJobFile("victim");
    served_.Kill(0);
  });
  for (int restart = 0; restart < 2; restart++) {
    served_.Restart(0);  // kills a daemon that runs
    ExpectRefused();
  }
  InThread([&] {
    RawJob victim(served_.socket_path(0), "victim", "secret");
    EXPECT_EQ(victim.AddOne(leased, 2), "no error");
    EXPECT_EQ(victim.Row(leased), 2);
  });
}

}  // namespace
}  // namespace graphd::testing
