// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/tensor_preparation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(TensorPreparation, IsShownForTheTensorsWhoseMemoryIsPrepared) {
  const json prepared = {{"name", "old"}, {"resident_bytes", 4096}, {"preparing_bytes", 0}};
  const json fresh = {{"name", "users"},
                      {"part", 1},
                      {"resident_bytes", uint64_t{1} << 30},
                      {"preparing_bytes", uint64_t{10} << 30}};
  const json status = {{"tensors", {prepared, fresh}}};
  const json found = PreparedTensors(status);
  EXPECT_EQ(found, json::array({fresh}));
  const json machines = {{{"host", "a"}, {"preparing", found}}, {{"host", "b"}}};
  EXPECT_THAT(PreparationLines(machines),
              ElementsAre("tensor 'users', partition 1 on a, is new: 1.0 GiB of 10.0 GiB of its "
                          "memory are prepared; its steps are slower until all are"));
  EXPECT_THAT(PreparedTensors(json()), IsEmpty());
}

}  // namespace
}  // namespace graphd::ctl
