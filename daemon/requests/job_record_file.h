// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "daemon/requests/job_board.h"
#include "daemon/requests/kept_file.h"

namespace graphd {

// The file in which the records of a daemon's JobBoard outlive it: the reports of supervisors about
// jobs, also about those that have ended, whose supervisors tell nothing again. Half a second after
// a report with news at the latest, a thread of its own (KeptFile) begins to write all records;
// reports without news don't count, and data threads wait for the copy of the board at most.
// Secrets of jobs are not in the file, but their hashes. Owned by the main thread.
class JobRecordFile {
 public:
  static constexpr size_t kMaxBytes = size_t{16} << 20;  // jobs silent for longest are left out

  explicit JobRecordFile(std::string path);
  ~JobRecordFile();  // writes the last changes
  JobRecordFile(const JobRecordFile&) = delete;
  JobRecordFile& operator=(const JobRecordFile&) = delete;

  // Gives the board the jobs of the file, if it is there and not damaged, and writes it from now
  // on. The board must not have been used yet, and live longer.
  void Keep(JobBoard& board);

  // Convert between jobs and the file's bytes. FromBytes throws Error(kCorrupt) or Error(kInvalid).
  static std::string ToBytes(std::vector<JobBoard::Kept> jobs);
  static std::vector<JobBoard::Kept> FromBytes(std::string_view bytes);

  // Returns the line that precedes the message, with its checksum.
  static std::string Heading(std::string_view message);

 private:
  JobBoard* board_ = nullptr;
  KeptFile file_;
};

}  // namespace graphd
