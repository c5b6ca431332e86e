// SPDX-License-Identifier: Apache-2.0
// Tests that rows of a checkpoint are refused if there are more or fewer than were asked for. The
// daemon is a true one, which is asked for something else than the client has asked for.
#include <gmock/gmock.h>

#include "client/checkpoints/client.h"
#include "client/checkpoints/peer.h"
#include "client/checkpoints/restore.h"
#include "graphd/checkpoint.h"
#include "graphd/dist_tensor.h"
#include "tests/unit/client/behind_proxy.h"

namespace graphd::testing {
namespace {

using ::testing::HasSubstr;

class FalseRows : public BehindProxy {
 protected:
  FalseRows() {
    const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
    TensorSpec spec;
    spec.name = "x";
    spec.persistent = true;
    DistTensor::Create(graph, spec);
    CreateCheckpoint(graph, "saved", {});
  }
  // Makes the daemon read `begin` and `count` of a request, which are these two numbers, as others.
  void Ask(int64_t begin, int64_t count, int64_t other_begin, int64_t other_count) {
    proxy_.ReplaceInRequests(Bytes<int64_t>({begin, count}),
                             Bytes<int64_t>({other_begin, other_count}));
  }
  Options CheckpointOptions() const {
    Options options = ProxiedOptions();
    options.job_id = "checkpoint";
    return options;
  }
  std::string ErrorOfReading() {
    CheckpointClient client(CheckpointOptions());
    const Checkpoint checkpoint = client.Find("saved");
    return Corrupt([&] {
      client.EachRows(checkpoint, checkpoint.tensors.at(0), [](const CheckpointClient::Rows& rows) {
        EXPECT_EQ(rows.orig_ids.size(), static_cast<size_t>(rows.count));
      });
    });
  }
};

TEST_F(FalseRows, RowsAreReadIfTheDaemonIsTrue) { EXPECT_EQ(ErrorOfReading(), "no error"); }

TEST_F(FalseRows, MoreRowsThanIdsAreRefused) {
  Ask(0, 77, 0, 1000);  // before the next line, whose numbers it would change, too
  Ask(0, kCheckpointIdPiece, 0, 77);
  EXPECT_THAT(ErrorOfReading(), HasSubstr("sent 4000 bytes of rows"));
}

TEST_F(FalseRows, RowsWithoutIdsAreRefused) {
  Ask(0, kCheckpointIdPiece, 0, 77);
  Ask(77, kCheckpointIdPiece, 77, 0);
  EXPECT_THAT(ErrorOfReading(), HasSubstr("has only 77 original ids"));
}

TEST_F(FalseRows, TooFewIdsOfTheGraphAreRefused) {
  const DistGraph graph(Initialize(served_.TrainerOptions(Transport::kAuto)));
  const int64_t rows = graph.partition_book().nodes().count_in(0, 0);
  Ask(0, rows, 0, rows - 1);
  CheckpointClient client(CheckpointOptions());
  EXPECT_THAT(Corrupt([&] { CheckpointRestore(client).Restore("saved", {}); }),
              HasSubstr("bytes of original ids, expected"));
}

}  // namespace
}  // namespace graphd::testing
