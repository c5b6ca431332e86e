// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "daemon/requests/job_registry.h"
#include "daemon/requests/kept_file.h"

namespace graphd {

// The file in which the credentials of a daemon's jobs outlive it, so that nobody else takes the
// name of a job while its processes attach again. It is written when jobs come and go. Owned by the
// main thread.
class JobFile {
 public:
  // Reads the file, which may be missing, as KeptFile does.
  explicit JobFile(std::string path);
  ~JobFile();  // writes the last changes
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  // Tells the registry the jobs of the file, and writes it from now on. The registry must live
  // longer.
  void Keep(JobRegistry& registry);

  // Convert between credentials and the file's text. FromText throws Error(kCorrupt).
  static std::string ToText(const CredentialsOfJobs& jobs);
  static CredentialsOfJobs FromText(std::string_view text);

 private:
  CredentialsOfJobs read_;
  JobRegistry* registry_ = nullptr;
  KeptFile file_;
};

}  // namespace graphd
