// SPDX-License-Identifier: Apache-2.0
// Tests of requests with names that are longer than any that a daemon has.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/support/raw_client.h"
#include "tests/support/served_graph_fixture.h"
#include "wire/graph_messages.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

class LongNames : public ::testing::Test {
 protected:
  // Returns the error that the call of a method with a request ends with.
  template <class Request>
  std::string Refusal(Request&& request) {
    try {
      client_->Wait(request.send().ignoreResult());
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }

  const ServedGraphFixture served_{HomogeneousGraph(100, {{0, 1}}), {{0}}, 1};
  // The client is behind a pointer because its destructor may throw, a test's may not.
  const std::unique_ptr<RawClient> client_ =
      std::make_unique<RawClient>(served_.socket_path(0), "job");
  const std::string name_ = std::string(100'000, 'n');
  const std::string refused_ = " has 100000 bytes; at most ";
};

TEST_F(LongNames, OfFeaturesAreRefused) {
  auto gather = client_->session().gatherRequest();
  gather.setName(name_);
  EXPECT_THAT(Refusal(gather), HasSubstr("the name of a feature" + refused_));
  auto slice = client_->session().sliceRequest();
  slice.setName(name_);
  EXPECT_THAT(Refusal(slice), HasSubstr("the name of a feature" + refused_));
  auto index = client_->session().edgeIndexRequest();
  index.initIndex().setColumn(name_);
  EXPECT_THAT(Refusal(index), HasSubstr("the name of a feature" + refused_));
  auto rule = client_->session().hopRequest();
  rule.initRules(1)[0].setColumn(name_);
  EXPECT_THAT(Refusal(rule), HasSubstr("the name of a feature" + refused_));
  auto rows = client_->session().hopRequest();
  rows.initSeeds(1);
  rows.initRows(1)[0].setName(name_);
  EXPECT_THAT(Refusal(rows), HasSubstr("the name of a feature" + refused_));
}

TEST_F(LongNames, OfTensorsAreRefused) {
  auto open = client_->session().openTensorRequest();
  open.initSpec().setName(name_);
  EXPECT_THAT(Refusal(open), HasSubstr("the name of a tensor" + refused_));
  auto deep = client_->session().openTensorRequest();
  deep.initSpec().setName("t");
  deep.getSpec().initRowShape(1'000'000);
  EXPECT_THAT(Refusal(deep), HasSubstr("has 1000000 dimensions after the first; at most "));
}

TEST_F(LongNames, OfCheckpointsAndTheirPartsAreRefused) {
  auto service = client_->session().checkpointsRequest().send().getService();
  auto prepare = service.prepareRequest();
  prepare.setName(name_);
  EXPECT_THAT(Refusal(prepare), HasSubstr("a checkpoint's name" + refused_));
  auto rows = service.readRowsRequest();
  rows.setName("c");
  rows.setTensor(name_);
  EXPECT_THAT(Refusal(rows), HasSubstr("a tensor's name" + refused_));
  auto file = service.readFileRequest();
  file.setName("c");
  file.setFile(name_);
  EXPECT_THAT(Refusal(file), HasSubstr("a file's name" + refused_));
  auto ids = service.originalIdsRequest();
  ids.setName(name_);
  EXPECT_THAT(Refusal(ids), HasSubstr("a checkpoint's name" + refused_));
  auto short_name = service.prepareRequest();
  short_name.setName("c");
  auto making =
      client_->Wait(short_name.send().then([](auto&& answer) { return answer.getMaking(); }));
  auto add = making.addFileRequest();
  add.setFile(name_);
  EXPECT_THAT(Refusal(add), HasSubstr("a file's name" + refused_));
}

TEST_F(LongNames, OfVersionsAndServersAreRefused) {
  auto attach = client_->daemon().attachRequest();
  attach.initHello().setVersion(name_);
  EXPECT_THAT(Refusal(attach), HasSubstr("its version" + refused_));
  auto server = client_->daemon().attachRequest();
  WriteHello(server.initHello());
  server.setServerName(name_);
  EXPECT_THAT(Refusal(server), HasSubstr("a server's name" + refused_));
}

}  // namespace
}  // namespace graphd::testing
