// SPDX-License-Identifier: Apache-2.0
#include "daemon/job_watch.h"

#include "base/failure.h"
#include "base/log.h"
#include "base/strings.h"

namespace graphd {
namespace {

// Logs what a job did. The short jobs that graphctl's own commands make are logged for debugging
// only.
void LogJob(const LogFields& fields, const char* what) {
  const bool is_tool = fields.job.starts_with(kToolJobPrefix);
  LogLine(is_tool ? LogLevel::kDebug : LogLevel::kInfo, StrCat("job ", fields.job, what), fields);
}

}  // namespace

void JobWatch::OnJobJoined(const std::string& job_id) {
  LogJob({.job = job_id, .op = "attach"}, " has attached");
  tensors_.OnJobJoined(job_id);
  steps_.OnJobJoined(job_id);
}

void JobWatch::OnJobLeft(const std::string& job_id) {
  LogFailure("the end of a job", [&] { LogJob({.job = job_id, .op = "leave"}, " has left"); });
  LogFailure("the end of a job", [&] { tensors_.OnJobLeft(job_id); });
  LogFailure("the end of a job", [&] { steps_.OnJobLeft(job_id); });
  LogFailure("the end of a job", [&] { graphs_.OnJobLeft(job_id); });
}

void JobWatch::OnJobEnded(const std::string& job_id) {
  LogFailure("the end of a job", [&] { tensors_.OnJobEnded(job_id); });
  LogFailure("the end of a job", [&] { graphs_.OnJobEnded(job_id); });
}

void JobWatch::TrainerLeft(const std::string& job_id, int rank) {
  LogFailure("the end of a trainer", [&] { steps_.TrainerLeft(job_id, rank); });
}

void JobWatch::OnAttemptBegun(const std::string& job_id, uint32_t attempt) {
  LogFailure("the start of an attempt", [&] { steps_.OnAttemptBegun(job_id, attempt); });
}

}  // namespace graphd
