// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_record_file.h"

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <xxhash.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <utility>

#include "base/strings.h"
#include "requests/job_records.capnp.h"

namespace graphd {
namespace {

using Kept = JobBoard::Kept;

// Returns an upper bound of the bytes that a job takes in the file.
size_t SizeOf(const Kept& job) {
  constexpr size_t kFixed = 128;  // numbers, and the ends of texts
  size_t bytes = 2 * kFixed + job.record.job_id.size() + job.record.command.size() +
                 job.credentials.secret_hash.size() + job.credentials.certificate.size();
  for (const JobHost& host : job.record.hosts) {
    bytes += kFixed + host.name.size() + host.reason.size() +
             (host.trainers.size() + host.away.size()) * sizeof(uint32_t);
  }
  return bytes;
}

// Leaves out the jobs that were silent for longest, so that the others fit into the file.
void Fit(std::vector<Kept>& jobs) {
  std::ranges::stable_sort(jobs, std::greater<>(), &Kept::reported_at);
  const size_t most = std::min(jobs.size(), JobRecordFile::kMaxJobs);
  size_t bytes = 1024, fit = 0;
  while (fit < most && (bytes += SizeOf(jobs[fit])) <= JobRecordFile::kMaxBytes) fit++;
  jobs.resize(fit);
}

capnp::Data::Reader ToData(const std::string& bytes) {
  return {reinterpret_cast<const kj::byte*>(bytes.data()), bytes.size()};
}

std::string FromData(capnp::Data::Reader data) {
  return {reinterpret_cast<const char*>(data.begin()), data.size()};
}

void WriteJob(const Kept& job, kept::Job::Builder out) {
  const JobCredentials& credentials = job.credentials;
  WriteRecord(job.record, out.initRecord());
  out.setReportedAt(job.reported_at);
  out.setSecretHash(ToData(credentials.secret_hash));
  out.setHasUid(credentials.uid.has_value());
  out.setUid(credentials.uid.value_or(0));
  out.setCertificate(ToData(credentials.certificate));
  out.setHasSharedSecret(credentials.has_secret);
}

Kept ReadJob(kept::Job::Reader in) {
  Kept job;
  job.record = ReadRecord(in.getRecord());
  job.reported_at = in.getReportedAt();
  if (!std::isfinite(job.reported_at)) Throw(ErrorCode::kCorrupt, "a job was reported at no time");
  job.credentials.secret_hash = FromData(in.getSecretHash());
  if (in.getHasUid()) job.credentials.uid = in.getUid();
  job.credentials.certificate = FromData(in.getCertificate());
  job.credentials.has_secret = in.getHasSharedSecret();
  return job;
}

}  // namespace

JobRecordFile::JobRecordFile(std::string path)
    : file_({.path = std::move(path),
             .max_bytes = kMaxBytes,
             .pause = std::chrono::milliseconds(500),
             .survives_power_loss = true,
             .thread = "job records",
             .read_failure = "can't use the saved records of jobs, so those that have ended are "
                             "forgotten",
             .save_failure = "can't save the records of jobs; after a restart of graphd, those "
                             "that have ended are forgotten"}) {}

JobRecordFile::~JobRecordFile() {
  if (board_ != nullptr) board_->SetOnChange(nullptr);
}

void JobRecordFile::Keep(JobBoard& board) {
  board_ = &board;
  file_.Read([&board](std::string_view bytes) { board.Restore(FromBytes(bytes)); });
  file_.Start([&board] { return ToBytes(board.Jobs()); });
  board.SetOnChange([this] { file_.NoteChange(); });
}

std::string JobRecordFile::Heading(std::string_view message) {
  char line[64];
  std::snprintf(line, sizeof line, "graphd job records 1 %016llx\n",
                static_cast<unsigned long long>(XXH3_64bits(message.data(), message.size())));
  return line;
}

std::string JobRecordFile::ToBytes(std::vector<Kept> jobs) {
  Fit(jobs);
  capnp::MallocMessageBuilder message;
  auto out = message.initRoot<kept::Jobs>().initJobs(static_cast<kj::uint>(jobs.size()));
  for (kj::uint i = 0; i < out.size(); i++) WriteJob(jobs[i], out[i]);
  const kj::Array<capnp::word> words = capnp::messageToFlatArray(message);
  const kj::ArrayPtr<const char> chars = words.asBytes().asChars();
  const std::string_view bytes(chars.begin(), chars.size());
  return Heading(bytes).append(bytes);
}

std::vector<Kept> JobRecordFile::FromBytes(std::string_view bytes) {
  const size_t heading = bytes.find('\n') + 1;
  const std::string_view message = bytes.substr(heading);
  if (heading == 0 || bytes.substr(0, heading) != Heading(message)) {
    Throw(ErrorCode::kCorrupt, "its first line has another version or checksum than expected");
  }
  try {
    auto words = kj::heapArray<capnp::word>(message.size() / sizeof(capnp::word));
    std::memcpy(words.begin(), message.data(), words.asBytes().size());
    capnp::FlatArrayMessageReader reader(words);
    const auto listed = reader.getRoot<kept::Jobs>().getJobs();
    // A few bytes may list many empty jobs.
    if (listed.size() > kMaxJobs) {
      Throw(ErrorCode::kCorrupt, "it has ", listed.size(), " jobs, more than the ", kMaxJobs,
            " that a daemon keeps");
    }
    std::vector<Kept> jobs;
    for (const auto job : listed) jobs.push_back(ReadJob(job));
    return jobs;
  } catch (const kj::Exception& exception) {
    Throw(ErrorCode::kCorrupt, "it is not a message: ", exception.getDescription().cStr());
  }
}

}  // namespace graphd
