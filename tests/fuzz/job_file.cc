// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_file.h"

#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/support/target.h"

// Reads the bytes as the file with the credentials of a daemon's jobs. What is read can be written
// and is read again as the same.

namespace graphd::fuzz {

void ReadInput(std::string_view input) {
  const std::string text = JobFile::ToText(JobFile::FromText(input));
  if (JobFile::ToText(JobFile::FromText(text)) == text) return;
  std::fprintf(stderr, "written and read again, the jobs are others\n");
  std::abort();
}

std::vector<std::string> Seeds() {
  Peer peer{false, 0, std::nullopt, {}, "10.0.0.1:5", "alice"};
  CredentialsOfJobs jobs;
  jobs["with a certificate"] = JobCredentials::Of("a", "secret", peer);
  peer = {true, 1, 1000, {}, "unix"};
  jobs["of a user"] = JobCredentials::Of("b", "", peer);
  return {JobFile::ToText(jobs), JobFile::ToText({})};
}

}  // namespace graphd::fuzz
