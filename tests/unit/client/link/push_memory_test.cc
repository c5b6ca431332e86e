// SPDX-License-Identifier: Apache-2.0
// Tests payloads that trainers pass in memory that they share with their daemon.
#include "wire/memory/push_memory.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "client/link/control.h"
#include "client/link/daemon_link.h"
#include "client/link/push_regions.h"
#include "client/link/take_descriptor.h"
#include "graphd/interrupt.h"
#include "graphd/sparse_optim.h"
#include "tests/support/mapped_memory.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/tensor_fixture.h"
#include "wire/id_arrays.h"

namespace graphd::testing {
namespace {

constexpr int64_t kPushedDim = 1024;  // 8 KiB per row; 8 rows of a partition use the memory

std::shared_ptr<PushRegions> NewRegions() {
  const PushMemory daemons;
  return std::make_shared<PushRegions>(UniqueFd(::dup(daemons.fd())), 7);
}

TEST(PushRegions, ARegionBelongsToOnePushUntilTheDaemonIsDoneWithIt) {
  const auto regions = NewRegions();
  const store::ClientId a{1, 1}, b{2, 2};
  const auto first = regions->Take(100, a, 1), second = regions->Take(64, b, 1);
  const auto third = regions->Take(1, a, 2), again = regions->Take(100, a, 1);
  EXPECT_EQ(first->offset, 0U);
  EXPECT_EQ(second->offset, 128U);
  EXPECT_EQ(third->offset, 192U);
  EXPECT_EQ(again->offset, 256U);  // a push that is sent again needs another region
  EXPECT_EQ(second->data - first->data, 128);
  regions->Give(*second);
  EXPECT_EQ(regions->Take(65, b, 1)->offset, 384U);
  EXPECT_EQ(regions->Take(64, b, 2)->offset, 128U);
  regions->GiveUpTo(a, 1);  // frees both regions of the push
  EXPECT_EQ(regions->Take(128, b, 3)->offset, 0U);
  EXPECT_EQ(regions->Take(128, b, 4)->offset, 256U);
  regions->GiveUpTo(b, 4);
  EXPECT_EQ(regions->Take(192, b, 5)->offset, 0U);  // ends where the second push of a begins
  EXPECT_EQ(regions->Take(1, b, 6)->offset, 256U);
}

TEST(PushRegions, APreparedRegionIsForTheFirstSendingOfItsPush) {
  const auto regions = NewRegions();
  const store::ClientId a{1, 1}, b{2, 2};
  EXPECT_EQ(regions->Prepare(100, a, 2)->offset, 0U);
  EXPECT_EQ(regions->Take(100, a, 1)->offset, 128U);
  EXPECT_FALSE(regions->TakePrepared(100, a, 1));
  EXPECT_FALSE(regions->TakePrepared(100, b, 2));
  EXPECT_FALSE(regions->TakePrepared(200, a, 2));
  regions->GiveUpTo(a, 1);  // an earlier push has been answered
  EXPECT_EQ(regions->TakePrepared(100, a, 2)->offset, 0U);
  EXPECT_FALSE(regions->TakePrepared(100, a, 2));  // returned only once
  EXPECT_EQ(regions->Take(100, b, 1)->offset, 128U);
  regions->GiveUpTo(a, 2);
  EXPECT_EQ(regions->Take(100, b, 2)->offset, 0U);
  // Prepared regions use only half of the memory, because other pushes may be sent first.
  EXPECT_FALSE(regions->Prepare(PushMemory::kBytes / 2, a, 3));
  ASSERT_TRUE(regions->Prepare(PushMemory::kBytes / 2 - 256, a, 3));
  EXPECT_FALSE(regions->Prepare(1, a, 4));
  EXPECT_TRUE(regions->Take(PushMemory::kBytes / 2, b, 3));
}

TEST(PushRegions, PayloadsThatDoNotFitGetNoRegion) {
  const auto regions = NewRegions();
  EXPECT_FALSE(regions->Take(0, {}, 1));
  EXPECT_FALSE(regions->Take(PushMemory::kBytes + 1, {}, 1));
  EXPECT_FALSE(regions->Take(UINT64_MAX, {}, 1));
  ASSERT_TRUE(regions->Take(PushMemory::kBytes - 64, {}, 1));
  EXPECT_FALSE(regions->Take(65, {}, 2));
  ASSERT_TRUE(regions->Take(64, {}, 2));
  EXPECT_FALSE(regions->Take(1, {}, 3));
  regions->GiveUpTo({}, 1);
  EXPECT_TRUE(regions->Take(PushMemory::kBytes - 64, {}, 3));
}

// A forked process has its own copy of the list of regions, but shares the memory.
TEST(PushRegions, AForkedProcessGetsNoRegion) {
  const auto regions = NewRegions();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(regions->Take(64, {}, 1) ? 1 : 0);
  int status = -1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(regions->Take(64, {}, 1));
}

TEST(PushMemory, IsSharedAndCannotBeTruncated) {
  const PushMemory daemons;
  const PushMemory trainers(UniqueFd(::dup(daemons.fd())));
  EXPECT_NE(::ftruncate(trainers.fd(), 0), 0);
  trainers.data()[PushMemory::kBytes - 1] = std::byte(5);
  EXPECT_EQ(daemons.data()[PushMemory::kBytes - 1], std::byte(5));
  ExpectError([] { const PushMemory other(OpenFile("/proc/self/exe", O_RDONLY)); },
              ErrorCode::kInvalid, "another version");
}

// A client of partition 0's daemon that can send arbitrary requests.
class Client {
 public:
  Client(const Options& options, uint16_t port)
      : link_(thread_, BufferPool::Create(), std::make_shared<Traffic>(), options,
              {"127.0.0.1", port, {0}}) {
    link_.Attach();
  }
  ~Client() { LetGo(); }

  void Call(const std::function<kj::Promise<void>(wire::Session::Client&)>& call) {
    link_
        .StartSteps(DaemonLink::Lane::kSmall, 1,
                    [&](wire::Session::Client& session, size_t) { return call(session); })
        .Wait();
  }

  void GetMemory() {
    UniqueFd fd;
    Call([&](wire::Session::Client& session) {
      return session.pushMemoryRequest().send().then([&](auto&& response) {
        id = response.getId();
        return TakeDescriptor(response.getHandle(), fd).attach(kj::mv(response));
      });
    });
    ASSERT_TRUE(fd);
    memory = std::make_unique<PushMemory>(std::move(fd));
  }

  // Returns the daemon's number of the tensor.
  uint32_t NumberOf(const std::string& name) {
    uint32_t number = 0;
    Call([&](wire::Session::Client& session) {
      return session.listTensorsRequest().send().then([&](auto&& response) {
        for (auto tensor : response.getTensors()) {
          if (name == tensor.getSpec().getName().cStr()) number = tensor.getTable();
        }
      });
    });
    return number;
  }

  struct Payload {
    uint64_t memory = 0, offset = 0, bytes = 0;
  };
  void Set(uint32_t table, const std::vector<int64_t>& ids, const Payload& payload) {
    Call([&](wire::Session::Client& session) {
      auto request = session.pushRequest();
      request.setTable(table);
      request.initRule().setKind(static_cast<uint8_t>(UpdateKind::kSet));
      request.initClient().setHigh(77);
      request.setSequence(++sequence_);
      WriteIds(ids, 4, request.initIds(static_cast<kj::uint>(ids.size() * 4)));
      auto shared = request.initShared();
      shared.setMemory(payload.memory);
      shared.setOffset(payload.offset);
      shared.setBytes(payload.bytes);
      return request.send().ignoreResult();
    });
  }

  // Makes the daemon accept pushes without applying them, until LetGo.
  void Hold() {
    const std::string name = "held-" + std::to_string(++holds_);
    Call([&](wire::Session::Client& session) {
      return session.checkpointsRequest()
          .send()
          .then([&](auto&& response) {
            auto request = response.getService().prepareRequest();
            request.setName(name.c_str());
            return request.send();
          })
          .then([&](auto&& response) {
            making_ = response.getMaking();
            return response.getMaking().holdRequest().send().ignoreResult();
          });
    });
  }
  void LetGo() {
    thread_->Run([&] { making_ = nullptr; });
  }

  uint64_t id = 0;
  std::unique_ptr<PushMemory> memory;

 private:
  const std::shared_ptr<RpcThread> thread_ = std::make_shared<RpcThread>();
  kj::Maybe<wire::Making::Client> making_;
  DaemonLink link_;
  uint64_t sequence_ = 0;
  int holds_ = 0;
};

class PushMemoryOfDaemons : public TensorFixture {
 protected:
  static TensorSpec Wide(const std::string& name, int64_t dim = kPushedDim) {
    TensorSpec spec;
    spec.name = name;
    spec.persistent = true;
    spec.writers = TensorWriters::kMany;
    spec.dtype = DType::kInt64;
    spec.row_shape = {dim};
    return spec;
  }
  static Tensor Same(int64_t rows, int64_t value, int64_t dim = kPushedDim) {
    Tensor all = Tensor::Empty(DType::kInt64, {rows, dim});
    for (int64_t& each : all.as<int64_t>()) each = value;
    return all;
  }
  static std::vector<int64_t> UpTo(int64_t end) {
    std::vector<int64_t> ids;
    for (int64_t id = 0; id < end; id++) ids.push_back(id);
    return ids;
  }
  static void ExpectSame(const DistTensor& tensor, int64_t begin, int64_t end, int64_t value) {
    const Tensor rows = tensor.Slice(begin, end);
    for (const int64_t each : rows.as<int64_t>()) ASSERT_EQ(each, value) << tensor.name();
  }
  std::unique_ptr<Client> NewClient(const std::string& job,
                                    Transport transport = Transport::kAuto) const {
    Options options = served_.TrainerOptions(transport);
    options.job_id = job;
    const std::string path = served_.socket_path(0);
    const std::string file = path.substr(path.rfind('/') + 1);
    return std::make_unique<Client>(options, static_cast<uint16_t>(std::stoi(file)));
  }
  std::string DamageOf(size_t daemon) const {
    const auto control =
        ControlClient::ConnectUnix(served_.socket_path(daemon), std::chrono::seconds(5));
    const auto store = control->Status().store.value();
    return store.trouble + (store.damage.empty() ? "" : store.damage.front());
  }
};

TEST_F(PushMemoryOfDaemons, IsReused) {
  const DistGraph graph = Connect();
  const DistTensor tensor = DistTensor::Create(graph, Wide("rows"));
  const int before = MappingsOf("graphd-pushes");
  for (int64_t value = 1; value <= 20; value++) {
    tensor.Write(UpTo(kNodes), Same(kNodes, value));  // 160 MB in all
    ExpectSame(tensor, 0, kNodes, value);
  }
  EXPECT_EQ(MappingsOf("graphd-pushes"), before + 2);  // one for each daemon
}

TEST_F(PushMemoryOfDaemons, PayloadsOutsideItAreRefused) {
  constexpr uint64_t kRow = kPushedDim * 8, kEnd = PushMemory::kBytes;
  const DistTensor tensor = DistTensor::Create(Connect(), Wide("rows"));
  const auto client = NewClient("hostile"), other = NewClient("other");
  const uint32_t number = client->NumberOf("rows");
  ExpectError(
      [&] {
        client->Set(number, {0}, {1, 0, kRow});
      },
      ErrorCode::kUnavailable, "another session");
  client->GetMemory();
  other->GetMemory();
  EXPECT_NE(client->id, other->id);
  const uint64_t id = client->id;
  client->GetMemory();
  EXPECT_EQ(client->id, id);
  ExpectError(
      [&] {
        client->Set(number, {0}, {other->id, 0, kRow});
      },
      ErrorCode::kUnavailable, "another session");
  const Client::Payload outside[] = {{id, 1, kRow},
                                     {id, 8, kRow},
                                     {id, kEnd, kRow},
                                     {id, kEnd - 64, kRow},
                                     {id, kEnd + 64, 0},
                                     {id, 0, kEnd + 1},
                                     {id, UINT64_MAX - 63, kRow},
                                     {id, 64, UINT64_MAX - 32}};
  for (const Client::Payload& payload : outside) {
    ExpectError([&] { client->Set(number, {0}, payload); }, ErrorCode::kInvalid,
                "is not in the memory for it");
  }
  for (const uint64_t bytes : {uint64_t{0}, kRow - 1, kRow + 8, 2 * kRow, kEnd}) {
    ExpectError(
        [&] {
          client->Set(number, {0}, {id, 0, bytes});
        },
        ErrorCode::kInvalid, "rows of 8192 bytes came with");
  }
  ExpectError([&] { NewClient("remote", Transport::kTcp)->GetMemory(); }, ErrorCode::kDenied,
              "Unix socket");
  const Tensor row = Same(1, 3);
  std::memcpy(client->memory->data() + kEnd - kRow, row.data(), kRow);
  client->Set(number, {5}, {id, kEnd - kRow, kRow});
  ExpectSame(tensor, 5, 6, 3);
  ExpectSame(tensor, 0, 5, 0);
}

struct Stopped {};

TEST_F(PushMemoryOfDaemons, AnInterruptedCallKeepsItsRegionWhileTheDaemonMayReadIt) {
  const DistGraph graph = Connect();
  const DistTensor a = DistTensor::Create(graph, Wide("a"));
  const DistTensor b = DistTensor::Create(graph, Wide("b"));
  a.Write(UpTo(64), Same(64, 1));
  const auto holder = NewClient("holder");
  holder->Hold();
  {
    const auto start = Clock::now();
    const InterruptCheck check([start] {
      if (SecondsSince(start) > 0.5) throw Stopped{};
    });
    EXPECT_THROW(a.Write(UpTo(64), Same(64, 2)), Stopped);
  }
  std::thread writer([&] { EXPECT_NO_THROW(b.Write(UpTo(64), Same(64, 3))); });
  ::usleep(300'000);
  holder->LetGo();
  writer.join();
  ExpectSame(b, 0, 64, 3);
  a.Write(std::vector<int64_t>{64}, Same(1, 4));  // earlier pushes to `a` have been applied, too
  ExpectSame(a, 0, 64, 2);
}

TEST_F(PushMemoryOfDaemons, PayloadsThatFindNoRoomAreSentInMessages) {
  constexpr int64_t kWide = 8 * kPushedDim, kRows = 400;  // 25 MiB; two of three payloads fit
  const DistGraph graph = Connect();
  const auto holder = NewClient("holder");
  std::vector<DistTensor> tensors;
  for (int t = 0; t < 3; t++) {
    tensors.push_back(DistTensor::Create(graph, Wide("rows" + std::to_string(t), kWide)));
  }
  for (int64_t round = 0; round < 2; round++) {
    holder->Hold();
    std::vector<std::thread> writers;
    for (size_t t = 0; t < tensors.size(); t++) {
      const int64_t value = 10 * round + static_cast<int64_t>(t) + 1;
      writers.emplace_back([&, t, value] {
        EXPECT_NO_THROW(tensors[t].Write(UpTo(kRows), Same(kRows, value, kWide)));
      });
    }
    ::usleep(500'000);
    holder->LetGo();
    for (std::thread& writer : writers) writer.join();
    for (size_t t = 0; t < tensors.size(); t++) {
      ExpectSame(tensors[t], 0, kRows, 10 * round + static_cast<int64_t>(t) + 1);
    }
  }
}

TEST_F(PushMemoryOfDaemons, EveryAddIsAppliedOnceAlthoughDaemonsAreKilled) {
  std::atomic<bool> stop{false};
  std::atomic<int> adds{0};
  std::vector<std::thread> trainers;
  for (int t = 0; t < 2; t++) {
    trainers.emplace_back([&, t] {
      try {
        const DistTensor tensor =
            DistTensor::Create(Connect(Transport::kAuto, "job" + std::to_string(t)), Wide("sums"));
        std::vector<int64_t> ids = UpTo(16);
        for (int64_t id = kNodes - 16; id < kNodes; id++) ids.push_back(id);
        while (!stop) {
          tensor.Add(ids, Same(32, 1));
          adds++;
        }
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    });
  }
  for (size_t kill = 0; kill < 6; kill++) {
    const int before = adds;
    while (adds < before + 30 && !HasFailure()) ::usleep(1000);
    served_.Restart(kill % 2);
  }
  stop = true;
  for (std::thread& trainer : trainers) trainer.join();
  const DistTensor tensor = DistTensor::Open(Connect(), "sums");
  ExpectSame(tensor, 0, 16, adds);
  ExpectSame(tensor, kNodes - 16, kNodes, adds);
}

TEST_F(PushMemoryOfDaemons, SynchronousStepsEqualThoseThatAreSentInMessages) {
  std::vector<Tensor> results;
  for (const Transport transport : {Transport::kTcp, Transport::kAuto}) {
    Tensor seen;
    std::vector<std::thread> trainers;
    for (const int rank : {0, 1}) {
      trainers.emplace_back([&, rank] {
        try {
          const std::string job = "job" + std::to_string(results.size());
          const DistGraph graph = Connect(transport, job, rank, 2);
          DistEmbedding embedding(graph, {.name = job, .dim = 2048});
          SparseAdagrad optimizer({&embedding}, {.mode = StepMode::kSynchronous});
          graph.Barrier();
          for (uint64_t step = 0; step < 20; step++) {
            const uint64_t seed = 2 * step + static_cast<uint64_t>(rank);
            embedding.Backward(RandomIds(50, kNodes, seed),
                               RandomRows(DType::kFloat32, {50, 2048}, seed));
            optimizer.Step();
          }
          graph.Barrier();
          if (rank == 0) seen = All(embedding.weight());
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      });
    }
    for (std::thread& trainer : trainers) trainer.join();
    results.push_back(std::move(seen));
  }
  EXPECT_TRUE(SameBits(results[0], results[1]));
}

// Such a trainer can change only its own values; the tensors of others stay correct.
TEST_F(PushMemoryOfDaemons, ATrainerThatChangesASentPayloadDamagesNothing) {
  constexpr size_t kRows = 400, kBytes = kRows * kPushedDim * 8;
  const DistGraph graph = Connect();
  const DistTensor others = DistTensor::Create(graph, Wide("others"));
  DistTensor::Create(graph, Wide("rows"));
  others.Write(UpTo(64), Same(64, 1));
  const auto client = NewClient("hostile");
  const uint32_t number = client->NumberOf("rows");
  client->GetMemory();
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    auto* const bytes = reinterpret_cast<volatile unsigned char*>(client->memory->data());
    for (size_t i = 0;; i = (i + 4097) % kBytes) bytes[i] = static_cast<unsigned char>(i);
  }
  for (int i = 0; i < 20; i++) {
    client->Set(number, UpTo(int64_t{kRows}), {client->id, 0, kBytes});
    others.Add(UpTo(64), Same(64, 1));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  served_.Restart(0);
  EXPECT_EQ(DamageOf(0), "");
  ExpectSame(others, 0, 64, 21);
  others.Add(UpTo(64), Same(64, 1));
  ExpectSame(others, 0, 64, 22);
}

}  // namespace
}  // namespace graphd::testing
