// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

#include "daemon/requests/job_registry.h"
#include "daemon/requests/kept_file.h"

namespace graphd {

// The file that stores the credentials of a daemon's jobs for the next process of the daemon, so
// that nobody else can take the name of a job before the job's processes have attached again. It is
// written when jobs come and go. Owned by the main thread.
class JobFile {
 public:
  // Reads the file, which may be missing, as KeptFile does.
  explicit JobFile(std::string path);
  ~JobFile();  // writes the last changes
  JobFile(const JobFile&) = delete;
  JobFile& operator=(const JobFile&) = delete;

  // Passes the jobs of the file to the registry, and from now on writes the file when the registry
  // changes. The registry must outlive this object.
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
