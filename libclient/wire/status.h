// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graphd/schema.h"
#include "wire/graphd.capnp.h"
#include "wire/job_record.h"
#include "wire/tensor_messages.h"
#include "wire/time_buckets.h"

// The status of a daemon, and the identity of its clients. Plain values.

namespace graphd {

// The role of a process in its job. A trainer's second connection has the role kBulk. It carries
// rows, so that small answers don't wait behind them.
enum class JobRole { kTrainer, kLauncher, kBulk };

// The identity that a client gives when it attaches.
struct JobMember {
  std::string job_id;  // the same on all machines of the job; empty: a job of its own
  JobRole role = JobRole::kTrainer;
  int rank = 0;         // trainers: 0 .. world_size-1
  int world_size = 1;   // trainers of the job on all machines
  std::string command;  // shown by `graphctl ps`
  // A text that only the members of the job know; a client with another one is refused. If it is
  // empty, all members must be processes of one user. Never shown.
  std::string secret;
  uint32_t attempt = 0;  // number of times that the job's trainers were started again before
};

struct MemberStatus {
  JobRole role = JobRole::kTrainer;
  int rank = 0;
  int64_t pid = 0;   // reported by the kernel; 0 for TCP connections
  std::string peer;  // "unix" or the address
  uint32_t attempt = 0;
};

// Counts of what clients have read directly in memory of the daemon that they have mapped, without
// requests.
struct MappedReads {
  uint64_t calls = 0;  // the requests that the reads have replaced: at least one for each read
  uint64_t rows = 0;   // rows of features and tensors
  uint64_t bytes = 0;  // the size of these rows, as readers get them
  uint64_t edges = 0;  // edges that were sampled
};

// The largest numbers that one message may report. Reaching them takes hours of reading, but a
// client reports every second.
inline constexpr MappedReads kMostToldReads{uint64_t{1} << 40, uint64_t{1} << 40, uint64_t{1} << 50,
                                            uint64_t{1} << 40};

// Returns a + b, but at most 2^59. Whatever clients report, a count thus never begins again at 0,
// and programs that read numbers as int64 or double understand it.
constexpr uint64_t SumOfReads(uint64_t a, uint64_t b) noexcept {
  constexpr uint64_t kMost = uint64_t{1} << 59;
  return a >= kMost || b >= kMost - a ? kMost : a + b;
}

// Adds `more` to `to`, number by number, by SumOfReads.
void AddReads(const MappedReads& more, MappedReads& to) noexcept;

// Throws Error(kInvalid) if a message reports more than kMostToldReads.
void CheckToldReads(const MappedReads& reads);
// Returns the reads. Each number is lowered to what one message may report, if it is larger.
MappedReads LimitToldReads(const MappedReads& reads) noexcept;

struct JobStatus {
  std::string job_id;
  std::string command;
  int world_size = 0;
  double seconds = 0;  // since the first member attached
  std::vector<MemberStatus> members;
  std::string fingerprint = {};  // the version of the graph that it uses
  MappedReads mapped_reads = {};
  // Counts of the daemon's work for the job since its first member attached.
  uint64_t requests = 0, rows_served = 0, edges_sampled = 0, bytes_sent = 0;
  uint64_t memory_bytes = 0;  // for its requests and answers, in use
  std::string owner = {};     // "uid 1000" or "certificate NAME"; empty: not known
};

// A version of the graph that a daemon serves.
struct GraphVersionStatus {
  std::string id;  // the same at all daemons; empty: no switch led to it
  std::string part_config;
  std::string fingerprint;  // identifies the files that the daemon has read
  uint64_t bytes = 0;       // its partitions and derived arrays
  uint32_t jobs = 0;        // the number of jobs that use it
};

// The memory that is on pages of one kind.
struct PageBytes {
  std::string pages;  // "2 MiB transparent", ...
  uint64_t bytes = 0;
  bool operator==(const PageBytes&) const = default;
};

struct PartitionStatus {
  PartId part;
  int64_t num_nodes = 0, num_edges = 0;  // owned
  uint64_t bytes = 0;
  std::string pages;         // the most common kind of its pages: "2 MiB transparent", ...
  uint64_t index_bytes = 0;  // derived arrays, not included in `bytes`
  // `bytes` by kinds of pages, the most common one first; empty from older daemons.
  std::vector<PageBytes> page_bytes = {};
};

// The reason why a daemon takes no new jobs.
struct DrainStatus {
  std::string by;      // the operator who has asked for it
  std::string reason;  // given by that operator; may be empty
  double seconds = 0;  // since the operator has asked for it
};

// The times of all requests of one kind that have ended since the daemon was started.
struct OperationTimes {
  std::string operation;  // such as "sample"
  TimeBuckets durations;  // times from arrival to the answer or the cancellation
  TimeBuckets queued;     // the part of this in which they waited for a thread or their turn
};

struct ServerStatus {
  std::string version;  // the daemon's, such as "0.1.0"
  uint32_t protocol = 0;
  std::string server_name, graph_name, part_config;
  std::string state;  // "ready" or "draining"
  int64_t pid = 0;
  double uptime_seconds = 0;
  std::vector<std::string> listening;  // addresses and the socket's path
  bool insecure = false;
  bool ends_with_jobs = false;  // started by a launch without --keep_alive
  int32_t num_parts = 0;        // partitions of the whole graph
  std::vector<PartitionStatus> partitions;
  std::vector<JobStatus> jobs;
  uint64_t requests = 0, rows_served = 0, edges_sampled = 0, bytes_sent = 0;
  uint64_t rss_bytes = 0;
  std::vector<TensorShare> tensors;
  std::optional<StoreStatus> store;               // set once there is a tensor
  std::vector<JobRecord> records = {};            // jobs without their launcher, also ended ones
  std::optional<DrainStatus> drained = {};        // set while no new jobs are taken
  uint64_t rows_cached = 0, rows_not_cached = 0;  // found in clients' caches, and not found
  // The current version of the graph, and earlier versions that jobs still use.
  std::vector<GraphVersionStatus> graphs = {};
  std::vector<OperationTimes> operations = {};
  MappedReads mapped_reads = {};
};

// Jobs whose ids begin with this are graphctl's own connections, such as those of `graphctl
// checkpoint`.
inline constexpr const char* kToolJobPrefix = "graphctl-";

// Returns a text that says what will become of changed rows if the server ends before write-back
// has ended.
std::string WhatIsNotWritten(const StoreStatus& store);

void WriteMember(const JobMember& member, wire::Member::Builder out);
JobMember ReadMember(wire::Member::Reader in);
void WriteMappedReads(const MappedReads& reads, wire::MappedReads::Builder out);
MappedReads ReadMappedReads(wire::MappedReads::Reader in);
void WriteStatus(const ServerStatus& status, wire::Status::Builder out);
ServerStatus ReadStatus(wire::Status::Reader in);

}  // namespace graphd
