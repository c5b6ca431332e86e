// SPDX-License-Identifier: Apache-2.0
#include "wire/status.h"

#include <algorithm>

#include "base/strings.h"
#include "wire/bounded.h"

namespace graphd {
namespace {

kj::uint Size(size_t n) { return static_cast<kj::uint>(n); }

wire::Role ToWire(JobRole role) {
  switch (role) {
    case JobRole::kTrainer:
      return wire::Role::TRAINER;
    case JobRole::kLauncher:
      return wire::Role::LAUNCHER;
    case JobRole::kBulk:
      return wire::Role::BULK;
  }
  return wire::Role::TRAINER;
}

JobRole FromWire(wire::Role role) {
  switch (role) {
    case wire::Role::TRAINER:
      return JobRole::kTrainer;
    case wire::Role::LAUNCHER:
      return JobRole::kLauncher;
    case wire::Role::BULK:
      return JobRole::kBulk;
  }
  Throw(ErrorCode::kInvalid, "unknown role ", static_cast<int>(role));
}

void WriteJob(const JobStatus& job, wire::Status::JobStatus::Builder out) {
  WriteMappedReads(job.mapped_reads, out.initMappedReads());
  out.setJobId(job.job_id);
  out.setCommand(job.command);
  out.setWorldSize(job.world_size);
  out.setSeconds(job.seconds);
  out.setFingerprint(job.fingerprint);
  auto members = out.initMembers(Size(job.members.size()));
  for (kj::uint i = 0; i < members.size(); i++) {
    const MemberStatus& member = job.members[i];
    members[i].setRole(ToWire(member.role));
    members[i].setRank(member.rank);
    members[i].setPid(member.pid);
    members[i].setPeer(member.peer);
    members[i].setAttempt(member.attempt);
  }
  out.setRequests(job.requests);
  out.setRowsServed(job.rows_served);
  out.setEdgesSampled(job.edges_sampled);
  out.setBytesSent(job.bytes_sent);
  out.setMemoryBytes(job.memory_bytes);
  out.setOwner(job.owner);
}

JobStatus ReadJob(wire::Status::JobStatus::Reader in) {
  JobStatus job{
      in.getJobId().cStr(), in.getCommand().cStr(), in.getWorldSize(), in.getSeconds(), {}};
  for (auto member : BoundedList(in.getMembers(), "members")) {
    job.members.push_back({FromWire(member.getRole()), member.getRank(), member.getPid(),
                           member.getPeer().cStr(), member.getAttempt()});
  }
  job.fingerprint = in.getFingerprint().cStr();
  job.mapped_reads = ReadMappedReads(in.getMappedReads());
  job.requests = in.getRequests();
  job.rows_served = in.getRowsServed();
  job.edges_sampled = in.getEdgesSampled();
  job.bytes_sent = in.getBytesSent();
  job.memory_bytes = in.getMemoryBytes();
  job.owner = in.getOwner().cStr();
  return job;
}

}  // namespace

std::string WhatIsNotWritten(const StoreStatus& store) {
  // If there is no number, write-back had not begun yet, and perhaps no row had changed.
  const std::string rows =
      store.written_bytes < store.changed_bytes
          ? StrCat("not all ", HumanBytes(store.changed_bytes), " of changed rows are written back")
          : "rows that had changed may not be written back";
  if (!store.memory.empty()) {
    return StrCat(rows, "; they stay in ", store.memory,
                  ", from which the next start on this machine continues, unless the machine is "
                  "restarted before");
  }
  if (store.durability == "none")
    return rows + "; rows that are not written back are lost, since --durability is none";
  return rows + "; the next start reads them from the push log";
}

void WriteMember(const JobMember& member, wire::Member::Builder out) {
  out.setJobId(member.job_id);
  out.setRole(ToWire(member.role));
  out.setRank(member.rank);
  out.setWorldSize(member.world_size);
  out.setCommand(member.command.substr(0, kMaxCommand));
  out.setSecret(member.secret);
  out.setAttempt(member.attempt);
}

JobMember ReadMember(wire::Member::Reader in) {
  return {in.getJobId().cStr(),   FromWire(in.getRole()), in.getRank(),   in.getWorldSize(),
          in.getCommand().cStr(), in.getSecret().cStr(),  in.getAttempt()};
}

void CheckToldReads(const MappedReads& reads) {
  const auto check = [](const char* what, uint64_t told, uint64_t most) {
    if (told <= most) return;
    Throw(ErrorCode::kInvalid, "a message tells of ", told, " ", what,
          " read in mapped memory, but one may tell of ", most, " at most; send several");
  };
  check("calls", reads.calls, kMostToldReads.calls);
  check("rows", reads.rows, kMostToldReads.rows);
  check("bytes", reads.bytes, kMostToldReads.bytes);
  check("edges", reads.edges, kMostToldReads.edges);
}

MappedReads LimitToldReads(const MappedReads& reads) noexcept {
  return {std::min(reads.calls, kMostToldReads.calls), std::min(reads.rows, kMostToldReads.rows),
          std::min(reads.bytes, kMostToldReads.bytes), std::min(reads.edges, kMostToldReads.edges)};
}

void AddReads(const MappedReads& more, MappedReads& to) noexcept {
  to = {SumOfReads(to.calls, more.calls), SumOfReads(to.rows, more.rows),
        SumOfReads(to.bytes, more.bytes), SumOfReads(to.edges, more.edges)};
}

void WriteMappedReads(const MappedReads& reads, wire::MappedReads::Builder out) {
  out.setCalls(reads.calls);
  out.setRows(reads.rows);
  out.setBytes(reads.bytes);
  out.setEdges(reads.edges);
}

MappedReads ReadMappedReads(wire::MappedReads::Reader in) {
  return {in.getCalls(), in.getRows(), in.getBytes(), in.getEdges()};
}

void WriteStatus(const ServerStatus& status, wire::Status::Builder out) {
  out.setVersion(status.version);
  out.setProtocol(status.protocol);
  out.setServerName(status.server_name);
  out.setGraphName(status.graph_name);
  out.setPartConfig(status.part_config);
  out.setState(status.state);
  out.setPid(status.pid);
  out.setUptimeSeconds(status.uptime_seconds);
  auto listening = out.initListening(Size(status.listening.size()));
  for (kj::uint i = 0; i < listening.size(); i++) listening.set(i, status.listening[i].c_str());
  out.setInsecure(status.insecure);
  out.setEndsWithJobs(status.ends_with_jobs);
  out.setNumParts(status.num_parts);
  auto partitions = out.initPartitions(Size(status.partitions.size()));
  for (kj::uint i = 0; i < partitions.size(); i++) {
    const PartitionStatus& partition = status.partitions[i];
    partitions[i].setPart(partition.part);
    partitions[i].setNumNodes(partition.num_nodes);
    partitions[i].setNumEdges(partition.num_edges);
    partitions[i].setBytes(partition.bytes);
    partitions[i].setPages(partition.pages);
    partitions[i].setIndexBytes(partition.index_bytes);
    auto pages = partitions[i].initPageBytes(Size(partition.page_bytes.size()));
    for (kj::uint j = 0; j < pages.size(); j++) {
      pages[j].setPages(partition.page_bytes[j].pages);
      pages[j].setBytes(partition.page_bytes[j].bytes);
    }
  }
  auto graphs = out.initGraphs(Size(status.graphs.size()));
  for (kj::uint i = 0; i < graphs.size(); i++) {
    const GraphVersionStatus& graph = status.graphs[i];
    graphs[i].setId(graph.id);
    graphs[i].setPartConfig(graph.part_config);
    graphs[i].setFingerprint(graph.fingerprint);
    graphs[i].setBytes(graph.bytes);
    graphs[i].setJobs(graph.jobs);
  }
  auto jobs = out.initJobs(Size(status.jobs.size()));
  for (kj::uint i = 0; i < jobs.size(); i++) WriteJob(status.jobs[i], jobs[i]);
  out.setRequests(status.requests);
  out.setRowsServed(status.rows_served);
  out.setEdgesSampled(status.edges_sampled);
  out.setBytesSent(status.bytes_sent);
  out.setRowsCached(status.rows_cached);
  out.setRowsNotCached(status.rows_not_cached);
  out.setRssBytes(status.rss_bytes);
  auto tensors = out.initTensors(Size(status.tensors.size()));
  for (kj::uint i = 0; i < tensors.size(); i++) WriteShare(status.tensors[i], tensors[i]);
  if (status.store) WriteStoreStatus(*status.store, out.initStore());
  auto records = out.initRecords(Size(status.records.size()));
  for (kj::uint i = 0; i < records.size(); i++) WriteRecord(status.records[i], records[i]);
  auto operations = out.initOperations(Size(status.operations.size()));
  for (kj::uint i = 0; i < operations.size(); i++) {
    operations[i].setOperation(status.operations[i].operation);
    WriteTimes(status.operations[i].durations, operations[i].initDurations());
    WriteTimes(status.operations[i].queued, operations[i].initQueued());
  }
  WriteMappedReads(status.mapped_reads, out.initMappedReads());
  if (!status.drained) return;
  auto drained = out.initDrained();
  drained.setBy(status.drained->by);
  drained.setReason(status.drained->reason);
  drained.setSeconds(status.drained->seconds);
}

ServerStatus ReadStatus(wire::Status::Reader in) {
  ServerStatus status;
  status.version = in.getVersion().cStr();
  status.protocol = in.getProtocol();
  status.server_name = in.getServerName().cStr();
  status.graph_name = in.getGraphName().cStr();
  status.part_config = in.getPartConfig().cStr();
  status.state = in.getState().cStr();
  status.pid = in.getPid();
  status.uptime_seconds = in.getUptimeSeconds();
  for (auto text : in.getListening()) status.listening.emplace_back(text.cStr());
  status.insecure = in.getInsecure();
  status.ends_with_jobs = in.getEndsWithJobs();
  status.num_parts = in.getNumParts();
  for (auto partition : BoundedList(in.getPartitions(), "partitions")) {
    status.partitions.push_back({partition.getPart(), partition.getNumNodes(),
                                 partition.getNumEdges(), partition.getBytes(),
                                 partition.getPages().cStr(), partition.getIndexBytes()});
    for (auto pages : BoundedList(partition.getPageBytes(), "kinds of pages")) {
      status.partitions.back().page_bytes.push_back({pages.getPages().cStr(), pages.getBytes()});
    }
  }
  for (auto graph : BoundedList(in.getGraphs(), "graphs")) {
    status.graphs.push_back({graph.getId().cStr(), graph.getPartConfig().cStr(),
                             graph.getFingerprint().cStr(), graph.getBytes(), graph.getJobs()});
  }
  for (auto job : BoundedList(in.getJobs(), "jobs")) status.jobs.push_back(ReadJob(job));
  status.requests = in.getRequests();
  status.rows_served = in.getRowsServed();
  status.edges_sampled = in.getEdgesSampled();
  status.bytes_sent = in.getBytesSent();
  status.rows_cached = in.getRowsCached();
  status.rows_not_cached = in.getRowsNotCached();
  status.rss_bytes = in.getRssBytes();
  status.tensors = ReadShares(in.getTensors());
  if (in.hasStore()) status.store = ReadStoreStatus(in.getStore());
  for (auto record : BoundedList(in.getRecords(), "records"))
    status.records.push_back(ReadRecord(record));
  for (auto each : BoundedList(in.getOperations(), "operations")) {
    status.operations.push_back(
        {each.getOperation().cStr(), ReadTimes(each.getDurations()), ReadTimes(each.getQueued())});
  }
  status.mapped_reads = ReadMappedReads(in.getMappedReads());
  if (in.hasDrained()) {
    const auto drained = in.getDrained();
    status.drained = {drained.getBy().cStr(), drained.getReason().cStr(), drained.getSeconds()};
  }
  return status;
}

}  // namespace graphd
