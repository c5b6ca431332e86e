// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_record_file.h"

#include <cstdio>
#include <cstdlib>

#include "base/strings.h"
#include "tests/fuzz/support/target.h"

// Reads the bytes as the file with the records of a daemon's jobs, with a checksum that is right,
// and gives them to a board. What is read can be written and is read again as the same.

namespace graphd::fuzz {

void ReadInput(std::string_view input) {
  std::vector<JobBoard::Kept> jobs =
      JobRecordFile::FromBytes(JobRecordFile::Heading(input).append(input));
  const std::string bytes = JobRecordFile::ToBytes(jobs);
  if (JobRecordFile::ToBytes(JobRecordFile::FromBytes(bytes)) != bytes) {
    std::fprintf(stderr, "written and read again, the jobs are others\n");
    std::abort();
  }
  JobBoard board;
  board.Restore(std::move(jobs));
  JobRecordFile::ToBytes(board.Jobs());
}

std::vector<std::string> Seeds() {
  JobBoard board;
  std::vector<std::string> seeds;
  const auto add = [&] {
    const std::string bytes = JobRecordFile::ToBytes(board.Jobs());
    seeds.push_back(bytes.substr(bytes.find('\n') + 1));
  };
  add();
  JobRecord record{"1120-130501-1", "python3 train.py", 2, 3, 0, {}};
  JobHost host;
  host.name = "10.0.0.1:30050";
  host.sequence = 5;
  host.phase = JobPhase::kOver;
  host.code = 3;
  host.ended_at = 1.7e9;
  host.reason = "trainer 0 on 10.0.0.1:30050 exited with code 3";
  host.trainers = {2, 0};
  host.away = {1};
  record.hosts = {host};
  board.Report(record, "secret", {false, 0, std::nullopt, {}, "10.0.0.1:5", "alice"});
  add();
  record.job_id = "1120-130501-2";
  board.Report(record, "", {true, 1, 1000, {}, "unix"});
  add();
  return seeds;
}

}  // namespace graphd::fuzz
