// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/server_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/text_serializer.h>

#include <chrono>

namespace graphd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServerMetricsTest : public ::testing::Test {
 protected:
  ServerMetricsTest() {
    ServerStatus& status = numbers_.status;
    status.state = "ready";
    status.server_name = "a server";
    status.graph_name = "a \"graph\"";
    status.num_parts = 4;
  }
  std::string Text() {
    numbers_.status.operations = requests_.Operations();
    FamilyBuilder builder;
    AddServerMetrics(numbers_, builder);
    return prometheus::TextSerializer().Serialize(std::move(builder).Finish());
  }

  RequestCounters requests_;
  ConnectionCounters connections_;
  ServerNumbers numbers_{ServerStatus{}, requests_, connections_};
};

TEST_F(ServerMetricsTest, ShowsTheGraphAndTheState) {
  numbers_.status.partitions = {
      {1, 60, 70, 896, "2 MiB transparent", 64, {{"2 MiB transparent", 800}, {"4 KiB", 96}}}};
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("graphd_state{state=\"loading\"} 0\n"
                              "graphd_state{state=\"ready\"} 1\n"
                              "graphd_state{state=\"draining\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("{server_name=\"a server\",graph_name=\"a \\\"graph\\\"\"} 1"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_graph_partitions 4\n"));
  EXPECT_THAT(text, HasSubstr("graphd_partition_nodes{part=\"1\"} 60"));
  EXPECT_THAT(text, HasSubstr("graphd_partition_edges{part=\"1\"} 70"));
  EXPECT_THAT(text, HasSubstr("{part=\"1\",pages=\"2 MiB transparent\"} 800"));
  EXPECT_THAT(text, HasSubstr("{part=\"1\",pages=\"4 KiB\"} 96"));
  EXPECT_THAT(text, HasSubstr("graphd_partition_index_bytes{part=\"1\"} 64"));
}

TEST_F(ServerMetricsTest, CountsJobsAndTrainersWithoutTheirNames) {
  const auto member = [](JobRole role) { return MemberStatus{role, 0, 1, "unix"}; };
  numbers_.status.jobs = {
      {"secret plan", "train.py", 2, 1.0, {member(JobRole::kTrainer), member(JobRole::kBulk)}},
      {"other", "train.py", 2, 1.0, {member(JobRole::kLauncher), member(JobRole::kTrainer)}}};
  connections_.open = 4;
  connections_.refused_by_limit = 3;
  connections_.gave_way = 2;
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("\ngraphd_jobs 2\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_trainers 2\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_connections 4\n"));
  EXPECT_THAT(text, HasSubstr("graphd_connections_refused_total{reason=\"limit\"} 3"));
  EXPECT_THAT(text, HasSubstr("graphd_connections_refused_total{reason=\"gave_way\"} 2"));
  EXPECT_THAT(text, HasSubstr("graphd_connections_refused_total{reason=\"descriptors\"} 0"));
  EXPECT_THAT(text, Not(HasSubstr("secret plan")));
}

TEST_F(ServerMetricsTest, ShowsWhatClientsReadInMappedMemory) {
  requests_.CountMapped({1, 20, 300, 4000});
  for (int i = 0; i < 1000; i++) requests_.CountMapped({0, 0, kMostToldReads.bytes, 0});
  requests_.CountMapped({1, 1, 1, 1});
  numbers_.status.mapped_reads = {requests_.mapped_calls, requests_.mapped_rows,
                                  requests_.mapped_bytes, requests_.mapped_edges};
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("\ngraphd_mapped_calls_total 2\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_mapped_rows_total 21\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_mapped_bytes_total 5.7646075230342"));  // 2^59
  EXPECT_THAT(text, HasSubstr("\ngraphd_mapped_sampled_edges_total 4001\n"));
}

TEST_F(ServerMetricsTest, ShowsTimesAsACumulativeHistogram) {
  const auto add = [this](Clock::duration time, Clock::duration waited) {
    requests_.CountEnded(RequestKind::kSample, time, waited);
  };
  add(std::chrono::microseconds(100), Clock::duration(0));  // a bound belongs to its bucket
  add(std::chrono::milliseconds(2), std::chrono::milliseconds(1));
  add(std::chrono::seconds(20), std::chrono::seconds(19));
  // A wait that ends while it is read seems twice as long; it is no longer than the request.
  requests_.CountEnded(RequestKind::kGather, std::chrono::seconds(2), std::chrono::seconds(4));
  requests_.CountError(ErrorCode::kOverloaded);
  const std::string text = Text();
  const std::string name = "graphd_request_duration_seconds";
  EXPECT_THAT(text, HasSubstr(name + "_count{kind=\"sample\"} 3"));
  EXPECT_THAT(text, HasSubstr(name + "_sum{kind=\"sample\"} 20.0021"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{kind=\"sample\",le=\"0.0001\"} 1"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{kind=\"sample\",le=\"0.001\"} 1"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{kind=\"sample\",le=\"0.003\"} 2"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{kind=\"sample\",le=\"10\"} 2"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{kind=\"sample\",le=\"+Inf\"} 3"));
  EXPECT_THAT(text, HasSubstr(name + "_bucket{kind=\"sample\",le=\"30\"} 3"));
  EXPECT_THAT(text, HasSubstr(name + "_count{kind=\"barrier\"} 0"));
  const std::string queue = "graphd_request_queue_seconds";
  EXPECT_THAT(text, HasSubstr(queue + "_count{kind=\"sample\"} 3"));
  EXPECT_THAT(text, HasSubstr(queue + "_sum{kind=\"sample\"} 19.001"));
  EXPECT_THAT(text, HasSubstr(queue + "_bucket{kind=\"sample\",le=\"1e-05\"} 1"));
  EXPECT_THAT(text, HasSubstr(queue + "_bucket{kind=\"sample\",le=\"0.001\"} 2"));
  EXPECT_THAT(text, HasSubstr(queue + "_sum{kind=\"gather\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("graphd_request_errors_total{code=\"overloaded\"} 1"));
}

TEST_F(ServerMetricsTest, ShowsTheStoreOnceThereIsOne) {
  EXPECT_THAT(Text(), Not(HasSubstr("graphd_store_trouble")));
  TensorShare well, ill;
  ill.trouble = "its memory is gone";
  numbers_.status.tensors = {well, ill};
  StoreStatus store;
  store.memory_bytes = 4096;
  store.log_bytes = 77;
  store.trouble = "the disk is full";
  store.damage = {"one", "two"};
  numbers_.status.store = store;
  numbers_.state_dir = FileSystemRoom{1000, 10};
  const std::string text = Text();
  EXPECT_THAT(text, HasSubstr("\ngraphd_tensors 2\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_tensors_in_trouble 1\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_store_trouble 1\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_store_damages 2\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_push_log_bytes 77\n"));
  EXPECT_THAT(text, HasSubstr("\ngraphd_tensor_memory_limit_bytes 4096\n"));
  EXPECT_THAT(text, HasSubstr("graphd_file_system_free_bytes{directory=\"state_dir\"} 10"));
  EXPECT_THAT(text, Not(HasSubstr("memory_dir\"")));
  numbers_.status.store->memory_bytes = 0;
  EXPECT_THAT(Text(), Not(HasSubstr("graphd_tensor_memory_limit_bytes")));
}

}  // namespace
}  // namespace graphd
