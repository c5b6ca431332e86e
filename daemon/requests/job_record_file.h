// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "daemon/requests/job_board.h"
#include "daemon/requests/kept_file.h"

namespace graphd {

// The file that stores the records of a daemon's JobBoard for the next process of the daemon. It
// includes jobs that have ended, whose supervisors do not report again. At most half a second after
// a report with news, a thread of the file (KeptFile) begins to write all records. Reports without
// news are not written. Data threads never wait for the disk: at most, they wait until the board is
// copied. The file contains hashes of the jobs' secrets, not the secrets. Owned by the main thread.
class JobRecordFile {
 public:
  // Jobs that were silent for longest are left out if there are more bytes or jobs. A board never
  // has as many jobs, because each of them has a host.
  static constexpr size_t kMaxBytes = size_t{16} << 20, kMaxJobs = JobBoard::kMaxHostsOfAll;

  explicit JobRecordFile(std::string path);
  ~JobRecordFile();  // writes the last changes
  JobRecordFile(const JobRecordFile&) = delete;
  JobRecordFile& operator=(const JobRecordFile&) = delete;

  // Passes the jobs of the file, if it exists and is not damaged, to the board, and from now on
  // writes the file when the board changes. The board must not have been used yet, and must outlive
  // this object.
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
