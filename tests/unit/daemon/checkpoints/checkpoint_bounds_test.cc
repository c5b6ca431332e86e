// SPDX-License-Identifier: Apache-2.0
// Tests of what a client can make a daemon keep by checkpoints that it makes and lists.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/strings.h"
#include "client/checkpoints/manifest.h"
#include "daemon/checkpoints/checkpoint_making.h"
#include "format/load.h"
#include "graphd/checkpoint.h"
#include "tests/support/raw_client.h"
#include "tests/support/served_graph_fixture.h"
#include "tests/unit/format/one_partition.h"

namespace graphd::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class F>
std::string Refusal(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return StrCat(ErrorCodeName(error.code()), ": ", error.what());
  }
  return "no error";
}

class CheckpointBounds : public ::testing::Test {
 protected:
  wire::Checkpoints::Client Service() const {
    return client_.session().checkpointsRequest().send().getService();
  }
  static wire::Making::Client Prepare(RawClient& client, wire::Checkpoints::Client& service,
                                      const std::string& name, const std::string& id = "id") {
    auto prepare = service.prepareRequest();
    prepare.setName(name);
    prepare.setId(id);
    return client.Wait(prepare.send().then([](auto&& answer) { return answer.getMaking(); }));
  }
  static void Make(RawClient& client, wire::Checkpoints::Client& service, const std::string& name,
                   const std::string& manifest) {
    wire::Making::Client making = Prepare(client, service, name);
    client.Wait(making.holdRequest().send().ignoreResult());
    client.Wait(making.takeRequest().send().ignoreResult());
    auto commit = making.commitRequest();
    commit.setManifest(manifest);
    client.Wait(commit.send().ignoreResult());
  }
  const ServedGraphFixture served_{
      HomogeneousGraph(100, {{0, 1}}), {{0}}, 1, {"--peer_memory", "64MiB"}};
  // The client is behind a pointer because its destructor may throw, a test's may not.
  const std::unique_ptr<RawClient> owner_ =
      std::make_unique<RawClient>(served_.socket_path(0), "job");
  RawClient& client_ = *owner_;
};

TEST_F(CheckpointBounds, TextsThatAreTooLongAreRefused) {
  auto service = Service();
  EXPECT_THAT(Refusal([&] { Prepare(client_, service, "c", std::string(300, 'i')); }),
              HasSubstr("invalid: a checkpoint's id has more than 256 bytes"));
  EXPECT_THAT(
      Refusal([&] { Make(client_, service, "refused", std::string(size_t{9} << 20, 'm')); }),
      HasSubstr("invalid: a checkpoint's manifest has more than 8"));
  const auto prepare_tensors = [&](kj::uint count, size_t bytes) {
    auto prepare = service.prepareRequest();
    prepare.setName("c");
    auto names = prepare.initTensors(count);
    for (kj::uint i = 0; i < count; i++) names.set(i, std::string(bytes, 'n'));
    client_.Wait(prepare.send().ignoreResult());
  };
  EXPECT_THAT(Refusal([&] { prepare_tensors(5000, 1); }),
              HasSubstr("invalid: a checkpoint of 5000 tensors is wanted"));
  EXPECT_THAT(Refusal([&] { prepare_tensors(1, 1000); }),
              HasSubstr("invalid: a tensor's name has 1000 bytes"));
  Make(client_, service, "c", "m");
}

TEST_F(CheckpointBounds, AListComesInAnswersOfABoundedSize) {
  auto service = Service();
  const std::string manifest(size_t{7} << 20, 'm');
  for (const char* const name : {"a", "b", "c"}) Make(client_, service, name, manifest);
  for (const char* const name : {"d", "e"}) Make(client_, service, name, "{}");
  const auto names_after = [&](const std::string& after, bool more) {
    auto request = service.listRequest();
    request.setAfter(after);
    return client_.Wait(request.send().then([more](auto&& answer) {
      std::vector<std::string> names;
      for (auto each : answer.getCheckpoints()) names.emplace_back(each.getName().cStr());
      EXPECT_EQ(answer.getMore(), more);
      return names;
    }));
  };
  EXPECT_THAT(names_after("", true), ElementsAre("a"));
  EXPECT_THAT(names_after("a", true), ElementsAre("b"));
  EXPECT_THAT(names_after("bb", true), ElementsAre("c"));
  EXPECT_THAT(names_after("c", false), ElementsAre("d", "e"));
  EXPECT_THAT(names_after("e", false), ElementsAre());
}

TEST_F(CheckpointBounds, ClientsListAllCheckpoints) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kTcp)));
  auto service = Service();
  Manifest manifest;
  manifest.id = "id";
  manifest.checkpoint.graph_name = std::string(size_t{1} << 20, 'g');
  manifest.checkpoint.num_parts = 1;
  std::vector<std::string> names;
  for (int i = 0; i < 5; i++) {
    names.push_back(manifest.checkpoint.name = StrCat("c", i));
    Make(client_, service, names.back(), EncodeManifest(manifest, graph.schema()));
  }
  std::vector<std::string> listed;
  for (const Checkpoint& each : ListCheckpoints(graph)) listed.push_back(each.name);
  EXPECT_EQ(listed, names);
}

class UnfinishedCheckpoints : public ::testing::Test {
 protected:
  UnfinishedCheckpoints() {
    const PartConfig config = WriteOnePartition(HomogeneousGraph(100, {{0, 1}}), scratch_.path());
    graph_ = std::make_shared<const ServedGraph>(
        std::vector<std::shared_ptr<const Partition>>{LoadPartition(config, 0)});
    store::TensorHost::Options hosting;
    hosting.store.directory = scratch_ / "store";
    host_ = std::make_unique<store::TensorHost>(config.meta, std::vector<PartId>{0},
                                                std::move(hosting));
    for (int i = 0; i < 10; i++) {
      TensorSpec spec;
      spec.name = StrCat(std::string(200, 't'), i);
      spec.persistent = true;
      host_->Open({"job", 1}, 0, spec, true, false);
    }
  }
  std::unique_ptr<CheckpointMaking> Prepare(const std::string& name) {
    auto making = std::make_unique<CheckpointMaking>(graph_, *host_, MemoryCharge(account_));
    making->Prepare(catalog_, name, "id", {});
    return making;
  }

  const ScratchDirectory scratch_;
  std::shared_ptr<const ServedGraph> graph_;
  std::unique_ptr<store::TensorHost> host_;
  store::CheckpointCatalog catalog_{scratch_ / "checkpoints", "own"};
  const std::shared_ptr<MemoryAccount> account_ =
      std::make_shared<MemoryAccount>("clients", 40'000, "");
};

TEST_F(UnfinishedCheckpoints, TheirTensorsAreChargedUntilTheyEnd) {
  std::vector<std::unique_ptr<CheckpointMaking>> makings;
  makings.push_back(Prepare("first"));
  EXPECT_GE(account_->used(), 2000u) << "the names of ten tensors";
  EXPECT_THAT(Refusal([&] {
                while (makings.size() < 20) makings.push_back(Prepare(StrCat(makings.size())));
              }),
              HasSubstr("overloaded"));
  makings.clear();
  EXPECT_EQ(account_->used(), 0u);
  Prepare("first");
}

TEST_F(UnfinishedCheckpoints, TheNamesOfTheirFilesAreCharged) {
  const auto making = Prepare("c");
  const size_t before = account_->used();
  const std::string name(190, 'f');
  making->AddFile(name, 0, std::vector<std::byte>(5));
  making->AddFile(name, 5, std::vector<std::byte>(5));
  EXPECT_GE(account_->used(), before + name.size());
  EXPECT_LT(account_->used(), before + 2 * name.size());
  EXPECT_THAT(Refusal([&] {
                for (int i = 0; i < 300; i++) making->AddFile(StrCat(name, i), 0, {});
              }),
              HasSubstr("overloaded"));
}

}  // namespace
}  // namespace graphd::testing
