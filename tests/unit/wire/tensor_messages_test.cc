// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_messages.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

#include <functional>

namespace graphd {
namespace {

TEST(TensorMessages, KeepTheRuleOfAPush) {
  const UpdateRule rule{UpdateKind::kAdam, 0, 0.25F, 1e-6F, 0.5F, 0.75F, 0.125F};
  capnp::MallocMessageBuilder message;
  WriteUpdateRule(rule, message.initRoot<wire::UpdateRule>());
  EXPECT_EQ(ReadUpdateRule(message.getRoot<wire::UpdateRule>().asReader()), rule);
}

// Fills a list with three tensors, and gives the middle one values of a later version.
void FillList(const std::function<void(wire::TensorInfo::Builder)>& change,
              capnp::List<wire::TensorInfo>::Builder list) {
  for (kj::uint i = 0; i < list.size(); i++) {
    TensorShare share;
    share.table = i;
    share.info.spec.name = "emb";
    WriteShare(share, list[i]);
  }
  change(list[1]);
}

TEST(TensorMessages, AListLacksOnlyTensorsOfALaterVersion) {
  const std::vector<std::function<void(wire::TensorInfo::Builder)>> changes{
      [](auto info) { info.getSpec().setDtype(13); },
      [](auto info) { info.getSpec().setDtype(255); },
      [](auto info) { info.getSpec().setPolicy(kTensorPolicies); },
      [](auto info) { info.getSpec().setWriters(kTensorWriters); },
      [](auto info) { info.getSpec().getInitializer().setKind(kInitKinds); },
      [](auto info) { info.setState(kOptimizerStates); }};
  for (const auto& change : changes) {
    capnp::MallocMessageBuilder message;
    auto list = message.initRoot<wire::Status>().initTensors(3);
    FillList(change, list);
    const std::vector<TensorShare> shares = ReadShares(list.asReader());
    ASSERT_EQ(shares.size(), 2u);
    EXPECT_EQ(shares[0].table, 0u);
    EXPECT_EQ(shares[1].table, 2u);
    try {
      ReadShare(list[1].asReader());
      ADD_FAILURE() << "it was read";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kVersion) << error.what();
    }
  }
}

}  // namespace
}  // namespace graphd
