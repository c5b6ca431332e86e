// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>
#include <thread>

#include "base/threads/mutex.h"
#include "daemon/requests/job_registry.h"

namespace graphd {

// The file in which the credentials of a daemon's jobs outlive it, so that nobody else takes the
// name of a job while its processes attach again. A thread writes it when jobs come and go; a disk
// that fails is logged, and the daemon works on. Owned by the main thread.
class JobFile {
 public:
  // Reads the file, which may be missing. A file that is damaged, or belongs to another user, is
  // logged and ignored.
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
  void Run();
  void Write(const std::string& text) const;

  const std::string path_;
  CredentialsOfJobs read_;
  JobRegistry* registry_ = nullptr;
  Mutex mutex_;
  CondVar wake_;
  bool changed_ GRAPHD_GUARDED_BY(mutex_) = false, ended_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace graphd
