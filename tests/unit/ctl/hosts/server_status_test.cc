// SPDX-License-Identifier: Apache-2.0
#include "ctl/hosts/server_status.h"

#include <gtest/gtest.h>

#include "base/strings.h"
#include "ctl/hosts/frame_reader.h"

namespace graphd::ctl {
namespace {

JobRecord RecordOf(const std::string& job, uint32_t num_hosts, const std::string& reason) {
  JobRecord record{job, std::string(1000, 'c'), num_hosts, 0, 0, {}};
  for (uint32_t i = 0; i < num_hosts; i++) {
    JobHost host;
    host.host = i;
    host.name = StrCat("host-", i);
    host.phase = JobPhase::kOver;
    host.ended_at = 100 - i;
    host.reason = reason;
    record.hosts.push_back(std::move(host));
  }
  return record;
}

TEST(ServerStatus, TellsTheReasonOfAJobsEndOnce) {
  ServerStatus status;
  status.records = {RecordOf("a", 3, "trainer 1 failed")};
  status.records[0].hosts[0].reason = "another";
  const nlohmann::json record = StatusToJson(status)["job_records"][0];
  EXPECT_EQ(record["command"].get<std::string>().size(), 200u);
  EXPECT_EQ(record["hosts"][0]["reason"], "another");
  EXPECT_FALSE(record["hosts"][1].contains("reason"));
  EXPECT_EQ(record["hosts"][2]["reason"], "trainer 1 failed");  // it ended first
}

// Returns the lines of a status that are about a job.
std::string JobLinesOf(const ServerStatus& status) {
  const std::string text = StatusToText("here", StatusToJson(status));
  std::string lines;
  for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    const std::string line = text.substr(at, text.find('\n', at) + 1 - at);
    if (line.starts_with("  job ")) lines += line;
  }
  return lines;
}

TEST(ServerStatus, ShowsEachJobInOneLine) {
  ServerStatus status;
  status.jobs.push_back({"a", "train", 4, 5, {}});
  status.jobs.back().members.push_back({JobRole::kTrainer, 0, 17, "unix"});
  status.jobs.push_back({"b", "", 1, 7, {}});
  status.records = {RecordOf("a", 2, ""), RecordOf("c", 1, "it was stopped")};
  status.records[0].hosts[1].phase = JobPhase::kRunning;
  status.records[1].command = "other";
  EXPECT_EQ(JobLinesOf(status),
            "  job a, 5.0 s, 1 of 4 trainers attached here, hosts: host-0 over, host-1 running: "
            "train\n"
            "  job b, 7.0 s, 0 of 1 trainers attached here\n"
            "  job c, ended 0.0 s ago with exit code 0 (it was stopped): other\n");
  // A job that has ended is shown as such although its supervisors are still attached.
  status.records[0] = RecordOf("a", 2, "trainer 1 failed");
  status.records[0].command = "train";
  EXPECT_EQ(JobLinesOf(status),
            "  job b, 7.0 s, 0 of 1 trainers attached here\n"
            "  job a, ended 0.0 s ago with exit code 0 (trainer 1 failed): train\n"
            "  job c, ended 0.0 s ago with exit code 0 (it was stopped): other\n");
}

TEST(ServerStatus, HasRoomInAFrameWhateverClientsReport) {
  ServerStatus status;
  for (int i = 0; i < 8; i++) {
    status.records.push_back(RecordOf(StrCat("job-", i), 1024, ""));
    for (JobHost& host : status.records.back().hosts) {
      host.reason = StrCat(host.host, std::string(500, '"'));
    }
  }
  const nlohmann::json shown = StatusToJson(status);
  EXPECT_LT(shown.dump().size(), size_t{700} << 10);
  for (int kind = 0; kind < 8; kind++) {  // every bucket has had requests
    OperationTimes& times = status.operations.emplace_back();
    times.operation = "change_rows";
    for (uint64_t i = 1; i <= 351; i++)
      times.durations.buckets.push_back({i * 28'000'000'000, i << 32});
    times.queued = times.durations;
  }
  for (int i = 0; i < 1000; i++) {  // more than a job of many types makes
    TensorShare& share = status.tensors.emplace_back();
    share.info.spec.name = StrCat("embeddings of authors, number ", i);
    share.info.spec.row_shape = {128};
    share.info.spec.rows = 123'456'789;
    share.info.job_id = "job-20261126-185002";
    share.stored_rows = 123'456'789;
    share.resident_bytes = 63'209'875'968;
  }
  const nlohmann::json all = StatusToJson(status, true);
  EXPECT_LT(all.dump().size(), FrameReader::kMaxFrame);
  EXPECT_EQ(all["tensors"].size(), 1000u);
  EXPECT_EQ(all["operations"].size(), 8u);
  const nlohmann::json plain = StatusToJson(status);
  EXPECT_LT(plain.dump().size(), FrameReader::kMaxFrame);
  EXPECT_FALSE(plain.contains("operations"));
  EXPECT_GT(shown["job_records"][0]["hosts"].size(), 100u);
}

}  // namespace
}  // namespace graphd::ctl
