// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/frame_contents.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "ctl/hosts/server_status.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

TEST(FrameContents, AreReadAsTheyWereSent) {
  const ExitFrame exit =
      ReadExit({{"rank", 2}, {"code", 137}, {"signal", SIGKILL}, {"ending", true}});
  EXPECT_EQ(exit.rank, 2);
  EXPECT_EQ(exit.code, 137);
  EXPECT_EQ(exit.signal, SIGKILL);
  EXPECT_TRUE(exit.ending);
  const ReadyFrame ready = ReadReady({{"started", true}, {"seconds", 1.5}, {"port", 40000}});
  EXPECT_TRUE(ready.started);
  EXPECT_EQ(ready.seconds, 1.5);
  EXPECT_EQ(ready.port, 40000);
  EXPECT_TRUE(ReadOut({{"rank", 1}, {"fd", 2}}).is_error);
  EXPECT_EQ(ReadStopped({{"signal", SIGINT}}), SIGINT);
}

TEST(FrameContents, OfAnotherTypeOrOutOfRangeAreReplaced) {
  for (const json& bad : {json("x"), json(), json::array(), json(1e300), json(uint64_t{1} << 40),
                          json(-(int64_t{1} << 40)), json::object()}) {
    SCOPED_TRACE(bad.dump());
    const json header = {{"rank", bad}, {"code", bad},    {"signal", bad}, {"ending", bad},
                         {"port", bad}, {"seconds", bad}, {"fd", bad},     {"started", bad}};
    EXPECT_EQ(ReadExit(header).rank, -1);
    EXPECT_EQ(ReadExit(header).code, 255);  // a failure
    EXPECT_EQ(ReadExit(header).signal, 0);
    EXPECT_EQ(ReadReady(header).port, 0);
    EXPECT_FALSE(ReadOut(header).is_error);
    EXPECT_EQ(ReadStopped(header), SIGTERM);
    EXPECT_NE(StatusToText("h", {{"partitions", bad}, {"uptime_seconds", bad}, {"jobs", bad}}), "");
  }
}

}  // namespace
}  // namespace graphd::ctl
