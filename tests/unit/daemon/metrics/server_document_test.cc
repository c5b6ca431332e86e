// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/server_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/strings.h"

namespace graphd {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

class ServerDocumentTest : public ::testing::Test {
 protected:
  ServerDocumentTest() {
    ServerStatus& status = numbers_.status;
    status.server_name = "mine";
    status.state = "ready";
    status.rows_served = 5;
    status.mapped_reads = {1, 20, 300, 4000};
  }
  json Document() const { return json::parse(DocumentOf(numbers_)); }

  RequestCounters requests_;
  ConnectionCounters connections_;
  ServerNumbers numbers_{ServerStatus{}, requests_, connections_};
};

MemberStatus Trainer(int rank, const std::string& peer) {
  return {JobRole::kTrainer, rank, 1, peer};
}

TEST_F(ServerDocumentTest, HasJobsWithTheirHostsAndWithoutTheirCommands) {
  JobStatus job{"night", "train.py --password 1234", 4, 60, {}};
  job.members = {Trainer(0, "unix"),
                 Trainer(1, "10.0.0.2:4711 (shared secret)"),
                 Trainer(2, "10.0.0.2:4712 (certificate alice:1)"),
                 Trainer(3, "[fe80::1]:9"),
                 {JobRole::kLauncher, 0, 1, "10.0.0.9:1"}};
  job.requests = 7;
  job.rows_served = 8;
  job.mapped_reads.rows = 2;
  job.memory_bytes = 100;
  job.owner = "uid 1000";
  numbers_.status.jobs = {job, {"graphctl-top", "", 1, 100, {Trainer(0, "unix")}}};
  TensorShare share;
  share.info.job_id = "night";
  share.resident_bytes = 4096;
  numbers_.status.tensors = {share, share};
  const json document = Document();
  EXPECT_EQ(document["rows"], 25);
  EXPECT_EQ(document["num_jobs"], 1);
  EXPECT_EQ(document["num_trainers"], 4);
  ASSERT_EQ(document["jobs"].size(), 1U);
  const json& shown = document["jobs"][0];
  EXPECT_EQ(shown["job"], "night");
  EXPECT_EQ(shown["owner"], "uid 1000");
  EXPECT_EQ(shown["trainers"], 4);
  EXPECT_EQ(shown["hosts"][0], (json{"10.0.0.2", 2}));
  EXPECT_EQ(shown["hosts"].size(), 3U);
  EXPECT_EQ(shown["requests"], 7);
  EXPECT_EQ(shown["rows"], 10);
  EXPECT_EQ(shown["request_bytes"], 100);
  EXPECT_EQ(shown["tensor_bytes"], 8192);
  EXPECT_THAT(document.dump(), Not(HasSubstr("password")));
}

TEST_F(ServerDocumentTest, IsBoundedWhateverClientsDo) {
  for (int i = 0; i < 1024; i++) {
    JobStatus job{StrCat(std::string(250, '\x01'), i), std::string(4096, 'c'), 64, 1.0 * i, {}};
    for (int k = 0; k < 64; k++) job.members.push_back(Trainer(k, StrCat("10.0.0.", k, ":1")));
    numbers_.status.jobs.push_back(std::move(job));
  }
  const json document = Document();
  EXPECT_EQ(document["num_jobs"], 1024);
  ASSERT_EQ(document["jobs"].size(), kMostListedJobs);
  EXPECT_THAT(std::string(document["jobs"][0]["job"]), HasSubstr("1023"));  // the oldest
  EXPECT_EQ(document["jobs"][0]["hosts"].size(), kMostListedHosts);
  // Other daemons take no more (PeerDocuments).
  EXPECT_LT(DocumentOf(numbers_).size(), 256U << 10);
}

TEST_F(ServerDocumentTest, ADrainedServerIsNotReady) {
  EXPECT_EQ(Document()["state"], "ready");
  numbers_.status.drained = {"alice@host-1", "new disks"};
  EXPECT_EQ(Document()["state"], "drained");
  EXPECT_THAT(Document().dump(), Not(HasSubstr("alice")));
}

}  // namespace
}  // namespace graphd
