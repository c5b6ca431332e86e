// SPDX-License-Identifier: Apache-2.0
#include "ctl/activity/job_lines.h"

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

TEST(JobLines, KeepJobsOfSeveralServersApart) {
  const auto status = [](const char* server) {
    return json{{"server_name", server},
                {"jobs", {{{"job", "a"}, {"world_size", 1}, {"seconds", 2}, {"command", server}}}}};
  };
  const json machines = {
      {{"server_name", "y"}, {"job_rates", {{{"job", "a"}, {"mapped_rows", 20}}}}}};
  EXPECT_THAT(JobLines({status("x"), status("y")}, machines),
              ElementsAre("job a, 1 trainers, 2 s: x",
                          "job a, 1 trainers, 2 s, 20 rows/s and 0.0 edges/s in mapped memory: y"));
}

}  // namespace
}  // namespace graphd::ctl
