// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_registry.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "base/strings.h"
#include "wire/connection.h"

namespace graphd {
namespace {

// The largest number of ranks that an error names.
constexpr int kMaxNamed = 8;

// Returns the first ranks of 0..world_size-1 that are not in `here`, for an error: "ranks 0, 2".
template <class ByRank>
std::string NameMissing(const ByRank& here, int world_size) {
  const int missing = world_size - static_cast<int>(here.size());
  std::string text = missing == 1 ? "rank" : "ranks";
  // A client chooses the size of its world, so the loop ends once it has found enough ranks.
  for (int rank = 0, named = 0; rank < world_size && named < kMaxNamed; rank++) {
    if (!here.contains(rank)) text += StrCat(named++ == 0 ? " " : ", ", rank);
  }
  if (missing > kMaxNamed) text += StrCat(" and ", missing - kMaxNamed, " more");
  return text;
}

// Warns in the log that anybody can join a job.
void WarnOfStrangers(const std::string& job, const Peer& peer) {
  LogWarning({.job = job, .peer = peer.LogName(), .op = "join"}, "job ", job, " of ",
             peer.LogName(),
             " has no secret, and nothing tells whose it is: every client that may ",
             "connect can join it and change its tensors; set GRAPHD_JOB_SECRET to the same text ",
             "in all of its processes, or use keys (graphctl keys)");
}

}  // namespace

const JobCredentials* JobRegistry::Remembered(const std::string& job_id) {
  if (const auto job = jobs_.find(job_id); job != jobs_.end()) return &job->second.credentials;
  const auto departed = departed_.find(job_id);
  if (departed == departed_.end()) return nullptr;
  if (SecondsSince(departed->second.left) < kRememberSeconds) return &departed->second.credentials;
  departed_.erase(departed);
  return nullptr;
}

void JobRegistry::Remember(const std::string& job_id, JobCredentials credentials) {
  std::erase_if(departed_, [](const auto& entry) {
    return SecondsSince(entry.second.left) >= kRememberSeconds;
  });
  // If a user has too many jobs, the oldest of this user is forgotten, not one of another user.
  size_t same = 0;
  auto oldest = departed_.end();
  for (auto entry = departed_.begin(); entry != departed_.end(); ++entry) {
    if (!entry->second.credentials.IsSamePeer(credentials)) continue;
    same++;
    if (oldest == departed_.end() || entry->second.left < oldest->second.left) oldest = entry;
  }
  if (same >= kMaxRemembered) departed_.erase(oldest);
  departed_[job_id] = {std::move(credentials), Clock::now()};
  NoteChange();
}

void JobRegistry::Expect(CredentialsOfJobs jobs) {
  const MutexLock lock(mutex_);
  for (auto& [job_id, credentials] : jobs) Remember(job_id, std::move(credentials));
}

CredentialsOfJobs JobRegistry::Credentials() const {
  const MutexLock lock(mutex_);
  CredentialsOfJobs all;
  for (const auto& [job_id, job] : jobs_) all[job_id] = job.credentials;
  for (const auto& [job_id, departed] : departed_) {
    if (SecondsSince(departed.left) < kRememberSeconds) all[job_id] = departed.credentials;
  }
  return all;
}

void JobRegistry::SetOnChange(std::function<void()> on_change) {
  const MutexLock lock(mutex_);
  on_change_ = std::move(on_change);
}

void JobRegistry::CheckSizes(const std::string& job_id, const std::string& secret) {
  if (job_id.size() > kMaxJobId) {
    Throw(ErrorCode::kInvalid, "the job id has ", job_id.size(), " bytes; at most ", kMaxJobId,
          " are allowed");
  }
  if (!IsUtf8(job_id)) Throw(ErrorCode::kInvalid, "the job id is not UTF-8");
  if (secret.size() > kMaxSecret) {
    Throw(ErrorCode::kInvalid, "the job's secret has ", secret.size(), " bytes; at most ",
          kMaxSecret, " are allowed");
  }
}

void JobRegistry::CheckReport(const std::string& job_id, const std::string& secret,
                              const Peer& peer) {
  CheckSizes(job_id, secret);
  const JobCredentials mine = JobCredentials::Of(job_id, secret, peer);
  const MutexLock lock(mutex_);
  const JobCredentials* const known = Remembered(job_id);
  if (!known) {
    Throw(ErrorCode::kUnavailable, "job ", job_id, " is not attached to this graphd yet");
  }
  known->Require(mine, job_id);
}

std::unique_ptr<JobRegistry::Membership> JobRegistry::Join(JobMember member, const Peer& peer,
                                                           std::function<void()> on_end) {
  CheckSizes(member.job_id, member.secret);
  if (member.world_size < 1 || member.world_size > kMaxWorldSize) {
    Throw(ErrorCode::kInvalid, "the job has ", member.world_size, " trainers; expected 1 to ",
          kMaxWorldSize);
  }
  Truncate(member.command, kMaxCommand);
  Callbacks afterwards;
  std::unique_ptr<Membership> membership;
  {
    const MutexLock lock(mutex_);
    membership = Add(std::move(member), peer, std::move(on_end), afterwards);
  }
  for (const auto& callback : afterwards) callback();
  return membership;
}

std::unique_ptr<JobRegistry::Membership> JobRegistry::Add(JobMember member, const Peer& peer,
                                                          std::function<void()> on_end,
                                                          Callbacks& afterwards) {
  if (closed_)
    Throw(ErrorCode::kUnavailable,
          "this graphd takes no jobs, because it is stopping; start it again, or wait for its "
          "restart");
  const uint64_t key = next_key_++;
  // A client can attach under the names that jobs without one would get next.
  for (uint64_t number = key; member.job_id.empty(); number = next_key_++) {
    std::string name = StrCat("anonymous-", number);
    if (!ended_.contains(name) && Remembered(name) == nullptr) member.job_id = std::move(name);
  }
  auto found = jobs_.find(member.job_id);
  const bool is_trainer = member.role == JobRole::kTrainer;
  if (member.role != JobRole::kLauncher && (member.rank < 0 || member.rank >= member.world_size)) {
    Throw(ErrorCode::kInvalid, "rank ", member.rank, " is outside the world of ", member.world_size,
          " trainers");
  }
  JobCredentials credentials = JobCredentials::Of(member.job_id, member.secret, peer);
  if (const JobCredentials* const expected = Remembered(member.job_id)) {
    expected->Require(credentials, member.job_id);
  }
  CheckWanted(member.job_id);
  if (found == jobs_.end()) {
    if (jobs_.size() >= kMaxJobs) {
      Throw(ErrorCode::kOverloaded, "this graphd has ", kMaxJobs, " jobs already");
    }
    found = jobs_.try_emplace(member.job_id).first;
    found->second.credentials = std::move(credentials);
    departed_.erase(member.job_id);
    found->second.number = next_key_++;
    found->second.world_size = member.world_size;
    found->second.command = member.command;
    NoteChange();
    if (!found->second.credentials.tells_who()) {
      afterwards.push_back([job = member.job_id, peer] { WarnOfStrangers(job, peer); });
    }
    if (observer_ != nullptr) observer_->OnJobJoined(member.job_id);
  }
  Job& job = found->second;
  if (job.members.size() >= kMaxMembers) {
    Throw(ErrorCode::kOverloaded, "job ", member.job_id, " has ", kMaxMembers, " members already");
  }
  if (member.attempt > job.world_attempt) {
    job.world_attempt = member.attempt;
    job.world_size = member.world_size;
  } else if (member.attempt == job.world_attempt && job.world_size != member.world_size) {
    Throw(ErrorCode::kInvalid, "job ", member.job_id, " has ", job.world_size,
          " trainers, but a trainer attaches with a world size of ", member.world_size);
  }
  if (job.command.empty()) job.command = member.command;
  if (member.role != JobRole::kLauncher) Begin(job, member, afterwards);
  if (is_trainer) {
    for (const auto& [other, status] : job.members) {
      if (status.role == JobRole::kTrainer && status.rank == member.rank &&
          status.attempt == member.attempt) {
        Throw(ErrorCode::kExists, "rank ", member.rank, " of job ", member.job_id,
              " is attached already, by ",
              status.pid != 0 ? StrCat("process ", status.pid) : status.peer,
              "; if that is gone, because its machine or a link has failed, try again: the daemon "
              "notices within about a minute");
      }
    }
    if (const auto rank = static_cast<size_t>(member.rank); rank < job.left.size()) {
      job.left[rank] = false;
    }
  }
  job.members[key] = {member.role, member.rank, peer.pid, peer.text, member.attempt};
  if (on_end) job.on_end[key] = std::move(on_end);
  return std::unique_ptr<Membership>(new Membership(*this, member, job.number, key, job.counters));
}

// Compares the attempt of a trainer, or of its connection for rows, with the job's. If the attempt
// is later than the job's, adds the callbacks of members of earlier attempts to `outdated`: on a
// host that was cut off, an earlier trainer may still run, but must not change anything any more.
void JobRegistry::Begin(Job& job, const JobMember& member, Callbacks& outdated) {
  if (member.attempt < job.attempt) {
    Throw(ErrorCode::kDenied, "job ", member.job_id, " was started again (attempt ", job.attempt,
          "), and this trainer is of attempt ", member.attempt, "; it should end");
  }
  if (member.attempt == job.attempt) return;
  job.attempt = member.attempt;
  job.left.clear();
  // The trainers of the previous attempt have ended, so nobody reads the answers to their waits.
  job.waiting.clear();
  job.last_entries.clear();
  for (const auto& [key, status] : job.members) {
    if (status.role == JobRole::kLauncher) continue;
    if (auto callback = job.on_end.extract(key)) outdated.push_back(std::move(callback.mapped()));
  }
  if (observer_ != nullptr) observer_->OnAttemptBegun(member.job_id, member.attempt);
}

void JobRegistry::FailAll(Waiting waiting, const Error& error) {
  for (auto& [rank, waiter] : waiting) waiter.fulfiller->reject(ToKj(error));
}

void JobRegistry::CheckWanted(const std::string& job_id) {
  if (const auto ended = ended_.find(job_id); ended != ended_.end()) {
    const double passed = SecondsSince(ended->second.at);
    if (passed < kRememberSeconds) {
      Throw(ErrorCode::kDenied, ended->second.why, ", and can't attach again under this id for ",
            static_cast<int>(kRememberSeconds - passed) + 1, " s; start it as a new job");
    }
    ended_.erase(ended);
  }
  // Processes of running jobs come and go: a process of a job that has just left may be attaching
  // again.
  if (!drained_ || job_id.starts_with(kToolJobPrefix) || Remembered(job_id) != nullptr) return;
  Throw(ErrorCode::kDenied, "this server takes no new jobs: ", drained_->by, " has drained it ",
        static_cast<int>(SecondsSince(drained_at_)), " s ago",
        drained_->reason.empty() ? "" : StrCat(" (", drained_->reason, ")"),
        "; use another server, or wait until an operator has run `graphctl server undrain`");
}

bool JobRegistry::SetDrained(std::optional<DrainStatus> drained) {
  const MutexLock lock(mutex_);
  const bool same =
      drained_.has_value() == drained.has_value() &&
      (!drained || (drained_->by == drained->by && drained_->reason == drained->reason));
  if (same) return false;
  if (!drained_) drained_at_ = Clock::now();
  drained_ = std::move(drained);
  return true;
}

std::optional<DrainStatus> JobRegistry::drained() const {
  const MutexLock lock(mutex_);
  std::optional<DrainStatus> drained = drained_;
  if (drained) drained->seconds = SecondsSince(drained_at_);
  return drained;
}

size_t JobRegistry::End(const std::string& job_id, const std::string& why) {
  Waiting failed;
  Callbacks on_end;
  size_t members = 0;
  {
    const MutexLock lock(mutex_);
    const auto found = jobs_.find(job_id);
    if (found == jobs_.end() && Remembered(job_id) == nullptr) {
      // Few ids are named: clients choose them, so they may be long, and there may be many.
      constexpr size_t kMostNamed = 8;
      std::vector<std::string> names;
      for (const auto& [id, job] : jobs_) {
        if (names.size() < kMostNamed) names.push_back(id);
      }
      Throw(ErrorCode::kNotFound, "this server has no job '", job_id, "'; ",
            names.empty() ? "it has none" : "it has: " + graphd::Join(names, ", "),
            jobs_.size() > kMostNamed ? ", ... (graphctl ps)" : "");
    }
    std::erase_if(ended_, [](const auto& entry) {
      return SecondsSince(entry.second.at) >= kRememberSeconds;
    });
    if (ended_.size() >= kMaxRemembered) {
      ended_.erase(std::min_element(ended_.begin(), ended_.end(), [](const auto& a, const auto& b) {
        return a.second.at < b.second.at;
      }));
    }
    ended_[job_id] = {why, Clock::now()};
    if (found == jobs_.end()) {
      // The job has left a short while ago. Its data is kept in case it returns, which it can't any
      // more.
      if (observer_ != nullptr) observer_->OnJobEnded(job_id);
      return 0;
    }
    Job& job = found->second;
    members = job.members.size();
    failed.swap(job.waiting);
    for (const auto& [key, callback] : job.on_end) on_end.push_back(callback);
  }
  FailAll(std::move(failed), Error(ErrorCode::kDenied, why));
  for (const auto& callback : on_end) callback();
  return members;
}

void JobRegistry::Leave(const std::string& job_id, uint64_t key) {
  Waiting failed;
  int rank = 0;
  bool empty = false;
  {
    const MutexLock lock(mutex_);
    auto found = jobs_.find(job_id);
    Job& job = found->second;
    const MemberStatus member = job.members.at(key);
    job.members.erase(key);
    job.on_end.erase(key);
    if (member.role == JobRole::kTrainer && member.attempt == job.attempt) {
      rank = member.rank;
      const auto at = static_cast<size_t>(rank);
      if (job.left.size() <= at) job.left.resize(at + 1);
      job.left[at] = true;
      job.waiting.erase(rank);
      failed.swap(job.waiting);
      if (observer_ != nullptr) observer_->TrainerLeft(job_id, rank);
    }
    if (job.members.empty()) {
      Remember(job_id, std::move(job.credentials));
      jobs_.erase(found);
      if (observer_ != nullptr) observer_->OnJobLeft(job_id);
      if (observer_ != nullptr && ended_.contains(job_id)) observer_->OnJobEnded(job_id);
    }
    empty = end_with_jobs_ && jobs_.empty() && !closed_;
    if (empty) closed_ = true;
  }
  FailAll(std::move(failed),
          Error(ErrorCode::kUnavailable, StrCat("barrier: trainer ", rank, " has left the job")));
  if (empty) on_empty_();
}

JobRegistry::Waiting JobRegistry::TakePassed(Job& job, uint64_t passed) {
  Waiting taken;
  if (passed <= job.barriers) return taken;
  job.barriers = passed;
  for (auto waiter = job.waiting.begin(); waiter != job.waiting.end();) {
    const auto each = waiter++;
    const uint64_t before = each->second.entry.passed;
    if (before != 0 && before < passed) taken.insert(job.waiting.extract(each));
  }
  return taken;
}

kj::Promise<uint64_t> JobRegistry::Wait(const std::string& job_id, uint64_t key, kj::Timer& timer,
                                        std::chrono::milliseconds timeout,
                                        const BarrierEntry& entry) {
  auto pair = kj::newPromiseAndCrossThreadFulfiller<uint64_t>();
  Waiting passed, complete;
  // Those who wait for a barrier that was passed pass it, whether or not this trainer is refused.
  KJ_DEFER(for (auto& [other, waiter] : passed) waiter.fulfiller->fulfill(kj::cp(entry.passed)));
  uint64_t ticket, number;
  bool has_passed = false;
  int rank;
  {
    const MutexLock lock(mutex_);
    Job& job = jobs_.at(job_id);
    const MemberStatus& member = job.members.at(key);
    rank = member.rank;
    if (member.role != JobRole::kTrainer) {
      Throw(ErrorCode::kInvalid, "only trainers take part in barriers");
    }
    if (member.attempt < job.attempt) {
      Throw(ErrorCode::kDenied, "barrier: job ", job_id, " was started again (attempt ",
            job.attempt, "), and this trainer is of attempt ", member.attempt, "; it should end");
    }
    // Every barrier needs every trainer. So if one of them has passed another barrier than this
    // trainer knows of, this trainer has passed it, too.
    passed = TakePassed(job, entry.passed);
    const auto last = job.last_entries.find(rank);
    has_passed = (entry.passed != 0 && entry.passed < job.barriers) ||
                 (entry.id != 0 && last != job.last_entries.end() && last->second == entry.id);
    const auto left = std::find(job.left.begin(), job.left.end(), true);
    if (!has_passed && left != job.left.end()) {
      Throw(ErrorCode::kUnavailable, "barrier: trainer ", left - job.left.begin(),
            " has left the job");
    }
    ticket = next_key_++;
    if (!has_passed &&
        !job.waiting.try_emplace(rank, Job::Waiter{ticket, entry, kj::mv(pair.fulfiller)}).second) {
      Throw(ErrorCode::kInvalid, "this trainer waits in the barrier already");
    }
    if (job.waiting.size() == static_cast<size_t>(job.world_size)) {
      job.barriers++;
      for (const auto& [other, waiter] : job.waiting) job.last_entries[other] = waiter.entry.id;
      complete.swap(job.waiting);
    }
    number = job.barriers;
  }
  for (auto& [other, waiter] : complete) waiter.fulfiller->fulfill(kj::cp(number));
  if (has_passed) return number;
  auto waiting = kj::mv(pair.promise);
  if (timeout.count() > 0) {
    // The daemon, not the client, decides that the time is over: otherwise, another trainer could
    // pass the barrier before the daemon notices that a client has given up.
    waiting = waiting.exclusiveJoin(
        timer.afterDelay(timeout.count() * kj::MILLISECONDS)
            .then([this, job_id, rank, ticket, timeout]() -> kj::Promise<uint64_t> {
              const std::string missing = StopWaiting(job_id, rank, ticket);
              // If the trainer no longer waits, the other promise is about to be fulfilled or to
              // fail.
              if (missing.empty()) return kj::NEVER_DONE;
              return ToKj(
                  Error(ErrorCode::kDeadline,
                        StrCat("barrier: ", missing, " did not come within ", timeout.count(),
                               " ms; see with graphctl ps what is attached, or wait longer "
                               "(GRAPHD_TIMEOUT: seconds)")));
            }));
  }
  // A trainer that is interrupted or dies stops waiting.
  return waiting.attach(
      kj::defer([this, job_id, rank, ticket] { StopWaiting(job_id, rank, ticket); }));
}

std::string JobRegistry::StopWaiting(const std::string& job_id, int rank, uint64_t ticket) {
  const MutexLock lock(mutex_);
  auto found = jobs_.find(job_id);
  if (found == jobs_.end()) return {};
  Job& job = found->second;
  auto waiter = job.waiting.find(rank);
  if (waiter == job.waiting.end() || waiter->second.ticket != ticket) return {};
  std::string missing = NameMissing(job.waiting, job.world_size);
  job.waiting.erase(waiter);
  return missing;
}

std::string JobRegistry::MissingInBarrier(const std::string& job_id) const {
  const MutexLock lock(mutex_);
  const auto found = jobs_.find(job_id);
  if (found == jobs_.end() || found->second.waiting.empty()) return {};
  return NameMissing(found->second.waiting, found->second.world_size);
}

void JobRegistry::Close() {
  const MutexLock lock(mutex_);
  closed_ = true;
}

bool JobRegistry::is_closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

std::vector<JobStatus> JobRegistry::Jobs() const {
  const MutexLock lock(mutex_);
  std::vector<JobStatus> all;
  for (const auto& [id, job] : jobs_) {
    JobStatus status{id, job.command, job.world_size, SecondsSince(job.since), {}};
    status.mapped_reads = job.mapped_reads;
    status.owner = job.credentials.Owner();
    status.requests = job.counters->requests;
    status.rows_served = job.counters->rows_served;
    status.edges_sampled = job.counters->edges_sampled;
    status.bytes_sent = job.counters->bytes_sent;
    for (const auto& [key, member] : job.members) {
      if (member.role != JobRole::kBulk) status.members.push_back(member);
    }
    all.push_back(std::move(status));
  }
  return all;
}

size_t JobRegistry::num_jobs() const {
  const MutexLock lock(mutex_);
  return jobs_.size();
}

JobRegistry::Membership::~Membership() { registry_.Leave(job_id_, key_); }

void JobRegistry::Membership::CountMapped(const MappedReads& reads) {
  const MutexLock lock(registry_.mutex_);
  AddReads(reads, registry_.jobs_.at(job_id_).mapped_reads);
}

kj::Promise<uint64_t> JobRegistry::Membership::Barrier(kj::Timer& timer,
                                                       std::chrono::milliseconds timeout,
                                                       const BarrierEntry& entry) {
  return registry_.Wait(job_id_, key_, timer, timeout, entry);
}

}  // namespace graphd
