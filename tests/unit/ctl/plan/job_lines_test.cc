// SPDX-License-Identifier: Apache-2.0
#include "ctl/plan/job_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace graphd::ctl {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;

TEST(JobLines, NameEachJobOnceWithItsReadsOnAllMachines) {
  const auto status = [](const char* command) {
    return json{
        {"jobs", {{{"job", "a"}, {"world_size", 4}, {"seconds", 61.5}, {"command", command}}}}};
  };
  const json rates = {{{"job", "a"}, {"mapped_rows", 500}, {"mapped_edges", 0}}};
  const json machines = {{{"job_rates", rates}}, {{"job_rates", rates}}};
  EXPECT_THAT(JobLines({status("train.py\n"), status("train.py\n")}, machines),
              ElementsAre("job a, 4 trainers, 61 s, 1000 rows/s and 0.0 edges/s in mapped memory: "
                          "train.py "));
  EXPECT_THAT(JobLines({json(), status("")}, json::array()),
              ElementsAre("job a, 4 trainers, 61 s"));
}

}  // namespace
}  // namespace graphd::ctl
