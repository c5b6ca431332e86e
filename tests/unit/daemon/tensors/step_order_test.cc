// SPDX-License-Identifier: Apache-2.0
// Tests that the limits of a connection never hold back a part of a step that another part waits
// for.
#include <gtest/gtest.h>
#include <kj/async-io.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/strings.h"
#include "store/rows/apply_rule.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/connection.h"
#include "wire/graph_messages.h"
#include "wire/id_arrays.h"
#include "wire/status.h"
#include "wire/tensor_messages.h"

namespace graphd::testing {
namespace {

constexpr int kTrainers = 2, kTables = 3;
constexpr int64_t kStepRows = 1000;
constexpr size_t kRowFloats = 8192;  // parts of 32 MiB

// A trainer that calls the protocol's methods itself.
class StepTrainer {
 public:
  StepTrainer(kj::AsyncIoContext& io, const std::string& socket, int rank)
      : connection_(*io.lowLevelProvider, {ConnectUnix(socket, 20000), true}, BufferPool::Create()),
        session_(Attach(rank, io.waitScope)) {
    for (int i = 0; i < kTables; i++) tables_.push_back(Open(StrCat("table ", i), io.waitScope));
  }
  kj::Promise<void> Stage(int table, uint64_t step) {
    auto request = session_.stageRequest();
    request.setTable(tables_[static_cast<size_t>(table)]);
    request.initRule().setKind(static_cast<uint8_t>(UpdateKind::kAdd));
    request.setStep(step);
    std::vector<int64_t> ids(kStepRows);
    std::iota(ids.begin(), ids.end(), 0);
    WriteIds(ids, 4, request.initIds(kStepRows * 4));
    auto payload = request.initPayload(kStepRows * kRowFloats * sizeof(float));
    std::fill_n(reinterpret_cast<float*>(payload.begin()), kStepRows * kRowFloats, 1.0F);
    return request.send().ignoreResult();
  }
  float FirstValue(int table, kj::WaitScope& scope) {
    auto request = session_.readRowsRequest();
    request.setTable(tables_[static_cast<size_t>(table)]);
    request.initIds(4);
    float value;
    auto response = request.send().wait(scope);
    std::memcpy(&value, response.getRows().begin(), sizeof value);
    return value;
  }

 private:
  wire::Session::Client Attach(int rank, kj::WaitScope& scope) {
    auto request = connection_.Bootstrap().attachRequest();
    WriteHello(request.initHello());
    JobMember member;
    member.job_id = "steps";
    member.rank = rank;
    member.world_size = kTrainers;
    WriteMember(member, request.initMember());
    return request.send().wait(scope).getSession();
  }
  uint32_t Open(const std::string& name, kj::WaitScope& scope) {
    TensorSpec spec;
    spec.name = name;
    spec.policy = TensorPolicy::kRange;
    spec.rows = kStepRows;
    spec.row_shape = {static_cast<int64_t>(kRowFloats)};
    spec.writers = TensorWriters::kMany;
    auto request = session_.openTensorRequest();
    request.setPart(0);
    WriteTensorSpec(spec, request.initSpec());
    request.setCreate(true);
    return request.send().wait(scope).getInfo().getTable();
  }

  Connection connection_;
  wire::Session::Client session_;
  std::vector<uint32_t> tables_;
};

// Each trainer sends the parts of its tables in another order, and waits for none of them before it
// has sent all. So each connection holds the parts that the other one's wait for, behind its own.
TEST(StepOrder, PartsOfSeveralTablesInAnyOrderAreAllAppliedWithLittleMemory) {
  const ServedGraphFixture served(HomogeneousGraph(100, RandomMultigraph(100, 500, 1)), {{0}}, 1,
                                  {"--peer_memory", "1536MiB"});
  auto io = kj::setupAsyncIo();
  std::vector<std::unique_ptr<StepTrainer>> trainers;
  for (int rank = 0; rank < kTrainers; rank++) {
    trainers.push_back(std::make_unique<StepTrainer>(io, served.socket_path(0), rank));
  }
  auto& timer = io.provider->getTimer();
  for (uint64_t step = 1; step <= 2; step++) {
    kj::Vector<kj::Promise<void>> parts;
    for (int i = 0; i < kTables; i++) {
      parts.add(trainers[0]->Stage(i, step));
      parts.add(trainers[1]->Stage(kTables - 1 - i, step));
    }
    timer.timeoutAfter(120 * kj::SECONDS, kj::joinPromises(parts.releaseAsArray()))
        .wait(io.waitScope);
  }
  for (int i = 0; i < kTables; i++) {
    EXPECT_EQ(trainers[0]->FirstValue(i, io.waitScope), 2.0F * kTrainers) << i;
  }
}

}  // namespace
}  // namespace graphd::testing
