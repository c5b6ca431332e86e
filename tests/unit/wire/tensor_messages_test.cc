// SPDX-License-Identifier: Apache-2.0
#include "wire/tensor_messages.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(TensorMessages, KeepTheRuleOfAPush) {
  const UpdateRule rule{UpdateKind::kAdam, 0, 0.25F, 1e-6F, 0.5F, 0.75F, 0.125F};
  capnp::MallocMessageBuilder message;
  WriteUpdateRule(rule, message.initRoot<wire::UpdateRule>());
  EXPECT_EQ(ReadUpdateRule(message.getRoot<wire::UpdateRule>().asReader()), rule);
}

}  // namespace
}  // namespace graphd
