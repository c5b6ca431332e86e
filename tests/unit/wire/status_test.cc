// SPDX-License-Identifier: Apache-2.0
#include "wire/status.h"

#include <capnp/message.h>
#include <gtest/gtest.h>

namespace graphd {
namespace {

TEST(Status, KeepsThePagesOfPartitionsAndTheCountsOfJobs) {
  ServerStatus status;
  status.partitions = {
      {3, 60, 70, 896, "2 MiB transparent", 64, {{"2 MiB transparent", 800}, {"4 KiB", 96}}},
      {4, 1, 1, 64, "4 KiB", 0, {{"4 KiB", 64}}}};
  JobStatus& job = status.jobs.emplace_back();
  job.job_id = "night";
  job.requests = 1;
  job.rows_served = 2;
  job.edges_sampled = 3;
  job.bytes_sent = 4;
  job.memory_bytes = 5;
  job.owner = "uid 1000";
  capnp::MallocMessageBuilder message;
  WriteStatus(status, message.initRoot<wire::Status>());
  const ServerStatus read = ReadStatus(message.getRoot<wire::Status>().asReader());
  ASSERT_EQ(read.partitions.size(), 2U);
  EXPECT_EQ(read.partitions[0].page_bytes, status.partitions[0].page_bytes);
  EXPECT_EQ(read.partitions[1].page_bytes, status.partitions[1].page_bytes);
  ASSERT_EQ(read.jobs.size(), 1U);
  const JobStatus& same = read.jobs[0];
  EXPECT_EQ(same.job_id, "night");
  EXPECT_EQ(same.requests, 1U);
  EXPECT_EQ(same.rows_served, 2U);
  EXPECT_EQ(same.edges_sampled, 3U);
  EXPECT_EQ(same.bytes_sent, 4U);
  EXPECT_EQ(same.memory_bytes, 5U);
  EXPECT_EQ(same.owner, "uid 1000");
}

}  // namespace
}  // namespace graphd
