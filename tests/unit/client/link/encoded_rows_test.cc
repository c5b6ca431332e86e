// SPDX-License-Identifier: Apache-2.0
// Tests rows that travel as they are stored, between real daemons and clients that decode them or
// do not.
#include <capnp/message.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "client/link/attach_info.h"
#include "graph/encoding.h"
#include "graphd/dist_graph.h"
#include "graphd/samplers.h"
#include "tests/support/raw_client.h"
#include "tests/unit/client/expect_error.h"
#include "tests/unit/client/remote_features.h"

namespace graphd::testing {
namespace {

constexpr int64_t kNodes = 4000;

class EncodedRows : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    served_ = std::make_unique<ServedGraphFixture>(
        ManyFeatures(), std::vector<std::vector<int>>{{0}, {1}}, 2, std::vector<std::string>{},
        std::vector<std::string>{"as_f16=float16", "as_bf16=bfloat16", "as_i8=int8"});
  }
  static void TearDownTestSuite() { served_.reset(); }
  static DistGraph OverTcp() { return DistGraph(Initialize(Remote(*served_, 0))); }
  static DistGraph Standalone() { return DistGraph(Initialize(served_->StandaloneOptions())); }
  static std::unique_ptr<ServedGraphFixture> served_;
};
std::unique_ptr<ServedGraphFixture> EncodedRows::served_;

TEST_F(EncodedRows, AreBitForBitThoseThatAreReadFromMemory) {
  const DistGraph remote = OverTcp(), alone = Standalone();
  const std::vector<int64_t> nodes = SomeIds(3000, kNodes, 1), edges = SomeIds(3000, 40000, 2);
  for (const std::string& name : alone.ndata_names()) {
    const DistTensor near = alone.ndata(name), far = remote.ndata(name);
    EXPECT_TRUE(SameBits(far.Read(nodes), near.Read(nodes))) << name;
    EXPECT_TRUE(SameBits(far.Slice(1000, 3000), near.Slice(1000, 3000))) << name;
  }
  for (const std::string& name : alone.edata_names()) {
    const DistTensor near = alone.edata(name), far = remote.edata(name);
    EXPECT_TRUE(SameBits(far.Read(edges), near.Read(edges))) << name;
    EXPECT_TRUE(SameBits(far.Slice(100, 39000), near.Slice(100, 39000))) << name;
  }
}

TEST_F(EncodedRows, TravelWithHops) {
  const DistGraph remote = OverTcp(), alone = Standalone();
  BatchRequest request{{SomeIds(300, kNodes, 3)}, 1};
  std::sort(request.seeds[0].begin(), request.seeds[0].end());
  request.seeds[0].erase(std::unique(request.seeds[0].begin(), request.seeds[0].end()),
                         request.seeds[0].end());
  for (const char* name : {"as_i8", "f32", "as_f16", "u8", "as_bf16", "orig_id"}) {
    request.input_features.push_back({0, name});
    request.seed_features.push_back({0, name});
  }
  const NeighborSampler sampler({5, 5});
  const MiniBatch near = sampler.Sample(alone, request), far = sampler.Sample(remote, request);
  EXPECT_EQ(remote.traffic().row_messages, 0U);
  ASSERT_EQ(near.input_nodes(), far.input_nodes());
  for (size_t i = 0; i < request.input_features.size(); i++) {
    EXPECT_TRUE(SameBits(near.input_features[i], far.input_features[i])) << i;
    EXPECT_TRUE(SameBits(near.seed_features[i], far.seed_features[i])) << i;
  }
}

TEST_F(EncodedRows, TakeTheirStoredBytesOnTheWire) {
  const std::vector<int64_t> ids = SomeIds(2000, kNodes, 4);
  const std::pair<const char*, size_t> row_bytes[] = {{"as_f16", 17 * 2}, {"as_bf16", 17 * 2},
                                                      {"as_i8", 17},      {"f32", 33 * 4},
                                                      {"f16", 3 * 2},     {"orig_id", 2}};
  for (const auto& [name, bytes] : row_bytes) {
    const DistGraph graph = OverTcp();
    static_cast<void>(graph.ndata(name).Read(ids));
    EXPECT_EQ(graph.traffic().row_bytes, ids.size() * (bytes + 4)) << name;
    static_cast<void>(graph.ndata(name).Slice(0, kNodes));
    EXPECT_EQ(graph.traffic().row_bytes, ids.size() * (bytes + 4) + size_t{kNodes} * bytes) << name;
  }
}

// Clients of an earlier version do not set `takesEncoded`.
TEST_F(EncodedRows, AreDecodedForClientsThatDoNotTakeThem) {
  const DistGraph alone = Standalone();
  RawClient client(served_->socket_path(0), "raw");
  for (const auto& feature : {std::pair("as_f16", DType::kFloat16),
                              {"as_bf16", DType::kBFloat16},
                              {"f32", DType::kFloat32}}) {
    const char* const name = feature.first;
    const DType stored = feature.second;
    const Tensor expected = alone.ndata(name).Slice(0, 100);  // partition 0 has the first nodes
    for (const bool takes_encoded : {false, true}) {
      const auto expect = [&](auto&& answer, capnp::Data::Reader rows) {
        EXPECT_EQ(answer.getEncoded(), takes_encoded);
        const Encoding sent{takes_encoded ? stored : DType::kFloat32, DType::kFloat32, 1};
        Tensor read = Tensor::Empty(DType::kFloat32, expected.shape());
        ASSERT_EQ(rows.size(), sent.StoredBytes(read.num_bytes()));
        Decode(sent, reinterpret_cast<const std::byte*>(rows.begin()), read.num_bytes() / 4,
               read.data());
        EXPECT_TRUE(SameBits(read, expected)) << name;
      };
      std::vector<uint32_t> ids(100);
      for (uint32_t i = 0; i < ids.size(); i++) ids[i] = i;
      const capnp::Data::Reader sent_ids(reinterpret_cast<const kj::byte*>(ids.data()), 400);
      auto gather = client.session().gatherRequest();
      gather.setName(name);
      gather.setIds(sent_ids);
      gather.setTakesEncoded(takes_encoded);
      client.Wait(gather.send().then([&](auto&& answer) { expect(answer, answer.getRows()); }));
      auto slice = client.session().sliceRequest();
      slice.setName(name);
      slice.setCount(100);
      slice.setTakesEncoded(takes_encoded);
      client.Wait(slice.send().then([&](auto&& answer) { expect(answer, answer.getRows()); }));
      auto hop = client.session().hopRequest();
      hop.initSeeds(1)[0].setIds(sent_ids);
      hop.initRows(1)[0].setName(name);
      hop.setTakesEncoded(takes_encoded);
      client.Wait(hop.send().then([&](auto&& answer) { expect(answer, answer.getRows()[0]); }));
    }
  }
}

// Returns the encodings of a partition with one feature of float32.
RowEncodings Received(const std::function<void(wire::Feature::Builder)>& change) {
  capnp::MallocMessageBuilder message;
  auto partition = message.initRoot<wire::PartitionInfo>();
  partition.setPart(3);
  auto feature = partition.initFeatures(1)[0];
  feature.setName("feat");
  feature.setDtype(static_cast<uint8_t>(DType::kFloat32));
  change(feature);
  RowEncodings encodings;
  ReadEncodings(partition.asReader(), encodings);
  return encodings;
}

TEST(RowEncodings, BelongToAPartitionAndAFeature) {
  EXPECT_TRUE(Received([](auto) {}).empty());
  const RowEncodings encodings = Received([](auto feature) {
    auto encoding = feature.initEncoding();
    encoding.setStored(static_cast<uint8_t>(DType::kInt8));
    encoding.setScale(0.5);
  });
  const Encoding scaled{DType::kInt8, DType::kFloat32, 0.5};
  EXPECT_EQ(encodings.Find(3, {NodeTypeId(0), "feat"}), scaled);
  for (const auto& [part, feature] : {std::pair(2, FeatureRef(NodeTypeId(0), "feat")),
                                      {3, {EdgeTypeId(0), "feat"}},
                                      {3, {NodeTypeId(1), "feat"}},
                                      {3, {NodeTypeId(0), "other"}}}) {
    EXPECT_TRUE(encodings.Find(part, feature).is_plain());
  }
}

TEST(RowEncodings, OnesThatDoNotExistAreRefused) {
  const auto receive = [](uint8_t stored, float scale) {
    return [=] {
      Received([&](auto feature) {
        feature.initEncoding().setStored(stored);
        feature.getEncoding().setScale(scale);
      });
    };
  };
  ExpectError(receive(14, 1), ErrorCode::kCorrupt, "'feat' is stored in dtype 14");
  ExpectError(receive(static_cast<uint8_t>(DType::kInt16), 1), ErrorCode::kCorrupt,
              "feature 'feat': int16 can't be read as float32");
  ExpectError(receive(static_cast<uint8_t>(DType::kInt8), std::numeric_limits<float>::quiet_NaN()),
              ErrorCode::kCorrupt, "feature 'feat': a scale of");
  ExpectError(receive(static_cast<uint8_t>(DType::kFloat16), 2), ErrorCode::kCorrupt,
              "feature 'feat': a scale of 2");
}

}  // namespace
}  // namespace graphd::testing
