// SPDX-License-Identifier: Apache-2.0
// Tests that answers of a false daemon are refused, instead of leading out of arrays later.
#include <capnp/message.h>
#include <gmock/gmock.h>

#include "client/link/answer_checks.h"
#include "client/link/attach_info.h"
#include "graphd/dist_graph.h"
#include "tests/unit/client/behind_proxy.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

class FalseAnswers : public BehindProxy {
 protected:
  static std::string Narrow(const std::vector<int64_t>& ids) {
    return Bytes(std::vector<uint32_t>(ids.begin(), ids.end()));
  }
};

TEST_F(FalseAnswers, EdgesBetweenNodesThatDoNotExistAreRefused) {
  const DistGraph graph(Initialize(ProxiedOptions()));
  // The edges of one partition, and far from each other, so that their nodes differ.
  std::vector<int64_t> ids, others;
  for (int64_t id = 1; id <= 8; id++) {
    ids.push_back(id * (graph.num_edges() / 20));
    others.push_back(ids.back() + 7);
  }
  const std::string peer = StrCat("127.0.0.1:", proxy_.port());
  const auto sources = Narrow(graph.FindEdges(ids, 0).src);
  const auto destinations = Narrow(graph.FindEdges(others, 0).dst);
  proxy_.ReplaceInAnswers(sources, std::string(sources.size(), '\x7f'));
  EXPECT_THAT(Corrupt([&] { graph.FindEdges(ids, 0); }),
              AllOf(HasSubstr(peer), HasSubstr("source 2139062143 of ")));
  proxy_.ReplaceInAnswers(destinations, std::string(destinations.size(), '\x7f'));
  EXPECT_THAT(Corrupt([&] { graph.FindEdges(others, 0); }),
              AllOf(HasSubstr(peer), HasSubstr("destination 2139062143 of ")));
}

TEST_F(FalseAnswers, IdsThatAreNegativeOrTooLargeAreRefused) {
  const auto check = [](const std::vector<int64_t>& ids, int64_t count) {
    CheckIds("there", "node", ids, count);
  };
  EXPECT_NO_THROW(check({}, 0));
  EXPECT_NO_THROW(check({0, 4, 2}, 5));
  EXPECT_THAT(Corrupt([&] {
                check({0, -1, 2}, 5);
              }),
              HasSubstr("there answered with node -1 of 5"));
  EXPECT_THAT(Corrupt([&] { check({0, 5}, 5); }), HasSubstr("node 5 of 5"));
  EXPECT_THAT(Corrupt([&] { check({INT64_MIN}, 5); }), HasSubstr("node -9223372036854775808"));
}

TEST(FalseFeatures, ShapesWithWhichNoRowCanBeSentAreRefused) {
  const Schema schema{{"u"}, {{"u", "to", "u"}}};
  const auto read = [&](const std::vector<int64_t>& row_shape) {
    capnp::MallocMessageBuilder message;
    auto info = message.initRoot<wire::PartitionInfo>();
    auto feature = info.initFeatures(1)[0];
    feature.setName("feat");
    feature.setDtype(static_cast<uint8_t>(DType::kFloat32));
    auto shape = feature.initRowShape(static_cast<kj::uint>(row_shape.size()));
    for (kj::uint i = 0; i < shape.size(); i++) shape.set(i, row_shape[i]);
    return ReadFeatures(info.asReader(), schema).nodes.at(0).at(0).row_shape;
  };
  for (const auto& shape : {std::vector<int64_t>{}, {0}, {16}, {4, 5}})
    EXPECT_EQ(read(shape), shape);
  const int64_t huge = int64_t{1} << 32;
  for (const auto& shape : {std::vector<int64_t>{-1}, {-1, -1}, {huge, huge}, {huge}, {0, -1}}) {
    try {
      read(shape);
      ADD_FAILURE() << shape[0];
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorrupt) << error.what();
    }
  }
}

}  // namespace
}  // namespace graphd::testing
