// SPDX-License-Identifier: Apache-2.0
#include "ctl/supervise/job_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/clock.h"
#include "base/directory.h"
#include "base/failure.h"
#include "base/host_name.h"
#include "base/strings.h"
#include "ctl/plan/json_value.h"

namespace graphd::ctl {
namespace {

constexpr size_t kMaxState = size_t{16} << 20;
constexpr size_t kMaxRequest = 4096;
constexpr const char* kStateFile = "/state.json";
constexpr const char* kLockFile = "/lock";
constexpr const char* kStopFile = "/stop";
constexpr const char* kRestartFile = "/restart";
constexpr const char* kRestartLockFile = "/restart.lock";
constexpr const char* kOrderFile = "/order.json";

// Returns the base directory (<base> in JobDirectory's comment). It does not depend on variables
// such as XDG_STATE_HOME, which may be set in a terminal but not by sshd, so that every session of
// the user finds the same directory.
std::optional<std::string> FindBaseDirectory() {
  if (const char* given = std::getenv("GRAPHD_JOBS_DIR"); given && *given) return given;
  if (::geteuid() == 0) return "/var/lib/graphd";
  const char* const home = std::getenv("HOME");
  if (!home || !*home) return std::nullopt;
  return StrCat(home, "/.local/state/graphd");
}

std::string BaseDirectory() {
  if (auto found = FindBaseDirectory()) return *found;
  Throw(ErrorCode::kInvalid,
        "this user has no home directory (HOME) in which a job could be kept; set "
        "GRAPHD_JOBS_DIR to a directory, on every host");
}

std::string PathOf(const std::string& job, uint16_t port) {
  CheckJobId(job);
  return StrCat(JobDirectory::Root(), "/", job, "/", port);
}

// Makes one directory that only this user can read; its parent exists.
void MakeOwnDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    ThrowErrno("can't create directory", path);
  }
  OpenOwnDirectory(path);  // checks its owner
}

// Reads a request from a file, and removes the file, even if the file is too long or is not a valid
// request. Returns nothing if there is no such file.
std::optional<nlohmann::json> TakeRequest(const std::string& path) {
  if (!FileExists(path)) return std::nullopt;
  nlohmann::json request;
  try {
    request = ParseJson(ReadTextFile(path, kMaxRequest));
  } catch (const Error& error) {
    // With kInvalid, the file is too long. After any other error, such as a shortage of
    // descriptors, the file stays, because the next attempt may succeed.
    if (error.code() == ErrorCode::kInvalid) RemoveFile(path);
    throw;
  }
  RemoveFile(path);
  if (!request.is_object()) Throw(ErrorCode::kCorrupt, path, " was not a JSON object; ignored it");
  return request;
}

double GraceOf(const nlohmann::json& request) {
  return std::clamp(ValueOr(request, "grace", 0.0), 0.0, 86400.0);
}

// Returns names in a directory, or none if it does not exist.
std::vector<std::string> NamesIn(const std::string& path) {
  return FileExists(path) ? ListDirectory(path) : std::vector<std::string>();
}

// Returns the time of the last change of a job's states, in nanoseconds.
int64_t TimeOf(const std::string& job_path) {
  int64_t last = 0;
  for (const std::string& port : NamesIn(job_path)) {
    struct stat info {};
    if (::stat((job_path + "/" + port + kStateFile).c_str(), &info) != 0) continue;
    last = std::max(last, int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec);
  }
  return last;
}

// Returns whether a file of state belongs to a job that `graphctl launch` leads from its start to
// its end (LedJob); false if the file can't be read.
bool IsLed(const std::string& state_path) {
  try {
    return ValueOr(ParseJson(ReadTextFile(state_path, kMaxState)), "led", false);
  } catch (const Error&) {
    return false;
  }
}

bool IsLocked(const std::string& lock_path) {
  const UniqueFd fd(::open(lock_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return fd && ::flock(fd.get(), LOCK_SH | LOCK_NB) != 0;
}

[[noreturn]] void RefuseSecondRestart(const std::string& job) {
  Throw(ErrorCode::kExists, "another `graphctl restart ", job,
        "` waits for the job's answer; try again when it has ended");
}

}  // namespace

bool IsJobId(const std::string& job) {
  const auto is_good = [](unsigned char c) {
    return std::isalnum(c) || c == '-' || c == '_' || c == '.';
  };
  return !job.empty() && job.size() <= 128 && job[0] != '.' &&
         std::all_of(job.begin(), job.end(), is_good);
}

void CheckJobId(const std::string& job) {
  if (IsJobId(job)) return;
  Throw(ErrorCode::kInvalid, "'", job,
        "' is not the id of a job; it has 1 to 128 letters, digits, "
        "'-', '_' and '.', as `graphctl launch` tells it and `graphctl ps` shows it");
}

std::string JobDirectory::Root() {
  return StrCat(BaseDirectory(), "/jobs-", HostName(), "-", ::geteuid());
}

JobDirectory JobDirectory::Make(const std::string& job, uint16_t port) {
  JobDirectory made(PathOf(job, port));
  MakeDirectories(DirName(Root()));
  MakeOwnDirectory(Root());
  // The root is locked while the job's directory is made. Otherwise, another supervisor could
  // remove the new directory before its own lock is taken.
  const UniqueFd root(::open(Root().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!root || ::flock(root.get(), LOCK_EX) != 0) ThrowErrno("can't lock", Root());
  for (const std::string& path : {DirName(made.path_), made.path_}) MakeOwnDirectory(path);
  const std::string lock = made.path_ + kLockFile;
  made.lock_ = OpenOwnFile(lock, O_RDWR | O_CREAT);
  if (::flock(made.lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    Throw(ErrorCode::kExists, "job ", job, " runs on this host already (", lock,
          " is locked); stop it first with `graphctl stop ", job, "`");
  }
  for (const char* request : {kStopFile, kRestartFile}) RemoveFile(made.path_ + request);
  // If this fails, the new job runs nevertheless, and the next new job tries again to remove old
  // jobs.
  LogFailure("can't remove old jobs", [] { Prune(); });
  return made;
}

JobDirectory JobDirectory::Open(const std::string& job, uint16_t port) {
  JobDirectory found(PathOf(job, port));
  if (FileExists(found.path_ + kStateFile)) {
    OpenOwnDirectory(found.path_);
    return found;
  }
  const std::vector<std::string> jobs = Jobs();
  Throw(ErrorCode::kNotFound, "user ", ::geteuid(), " has no job ", job, " on this host (in ",
        Root(), "); ",
        jobs.empty()
            ? std::string("there is none: `graphctl launch` starts one")
            : StrCat("there is ",
                     Join({jobs.begin(),
                           jobs.begin() + std::min<long>(5, static_cast<long>(jobs.size()))},
                          ", ")),
        "; if `graphctl ps` shows it, run this command as the user who launched it");
}

bool JobDirectory::Exists(const std::string& job, uint16_t port) {
  CheckJobId(job);
  return FindBaseDirectory() && FileExists(PathOf(job, port) + kStateFile);
}

std::vector<uint16_t> JobDirectory::PortsOf(const std::string& job) {
  CheckJobId(job);
  std::vector<uint16_t> ports;
  if (!FindBaseDirectory()) return ports;
  for (const std::string& name : NamesIn(StrCat(Root(), "/", job))) {
    uint16_t port = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), port);
    if (error == std::errc() && end == name.data() + name.size() && Exists(job, port)) {
      ports.push_back(port);
    }
  }
  return ports;
}

std::vector<std::string> JobDirectory::Jobs() {
  if (!FindBaseDirectory()) return {};
  std::vector<std::pair<int64_t, std::string>> dated;
  for (const std::string& job : NamesIn(Root()))
    dated.emplace_back(TimeOf(Root() + "/" + job), job);
  std::sort(dated.rbegin(), dated.rend());
  std::vector<std::string> jobs;
  for (auto& [time, job] : dated) jobs.push_back(std::move(job));
  return jobs;
}

// Removes the oldest jobs whose supervisors have ended. The new job has no state yet, but is kept
// because it is locked.
void JobDirectory::Prune() {
  struct Kept {
    std::string path;
    bool is_led = false, lives = false;
  };
  std::vector<Kept> all;
  size_t led = 0, others = 0;  // separate, so that many short led jobs don't displace others
  for (const std::string& job : Jobs()) {
    Kept& kept = all.emplace_back(Kept{StrCat(Root(), "/", job)});
    for (const std::string& port : NamesIn(kept.path)) {
      kept.is_led |= IsLed(kept.path + "/" + port + kStateFile);
      kept.lives |= IsLocked(kept.path + "/" + port + kLockFile);
    }
    (kept.is_led ? led : others)++;
  }
  for (; !all.empty(); all.pop_back()) {  // the oldest is the last
    size_t& count = all.back().is_led ? led : others;
    if (count <= kMaxJobs || all.back().lives) continue;
    RemoveTree(all.back().path);
    count--;
  }
}

std::string JobDirectory::LogOf(int rank) const { return StrCat(path_, "/trainer-", rank, ".log"); }

void JobDirectory::WriteState(const nlohmann::json& state) const {
  WriteFileAtomically(path_ + kStateFile,
                      state.dump(1, ' ', false, nlohmann::json::error_handler_t::replace));
}

nlohmann::json JobDirectory::ReadState() const {
  const std::string path = path_ + kStateFile;
  if (!FileExists(path)) return nlohmann::json::object();
  nlohmann::json state = ParseJson(ReadTextFile(path, kMaxState));
  if (!state.is_object()) {
    Throw(ErrorCode::kCorrupt, path, " is not a JSON object; the job's logs are beside it");
  }
  return state;
}

bool JobDirectory::IsLive() const { return lock_ || IsLocked(path_ + kLockFile); }

void JobDirectory::RequestStop(double grace_seconds) const {
  WriteFileAtomically(path_ + kStopFile, nlohmann::json({{"grace", grace_seconds}}).dump());
}

std::optional<double> JobDirectory::TakeStopRequest() const {
  const auto request = TakeRequest(path_ + kStopFile);
  if (!request) return std::nullopt;
  return GraceOf(*request);
}

void JobDirectory::WriteOrder(const std::string& order) const {
  WriteFileAtomically(path_ + kOrderFile, order);
}

void JobDirectory::RemoveOrder() const { RemoveFile(path_ + kOrderFile); }

std::string JobDirectory::ReadOrder() const { return ReadTextFile(path_ + kOrderFile, kMaxState); }

UniqueFd JobDirectory::LockRestart(const std::string& job) const {
  UniqueFd lock = OpenOwnFile(path_ + kRestartLockFile, O_RDWR | O_CREAT);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) RefuseSecondRestart(job);
  return lock;
}

std::string JobDirectory::RequestRestart(const RestartSpec& restart) const {
  std::string id = StrCat(::getpid(), "-", Clock::now().time_since_epoch().count());
  const nlohmann::json request = {
      {"id", id}, {"num_trainers", restart.num_trainers}, {"grace", restart.grace}};
  // A link appears with the whole request, and never replaces another one.
  const std::string written = StrCat(path_, kRestartFile, ".", id);
  WriteFileAtomically(written, request.dump());
  const int error = ::link(written.c_str(), (path_ + kRestartFile).c_str()) == 0 ? 0 : errno;
  RemoveFile(written);
  if (error == EEXIST) RefuseSecondRestart(restart.job);
  errno = error;
  if (error != 0) ThrowErrno("can't write", path_ + kRestartFile);
  return id;
}

std::optional<RestartRequest> JobDirectory::TakeRestartRequest() const {
  const auto request = TakeRequest(path_ + kRestartFile);
  if (!request) return std::nullopt;
  return RestartRequest{ValueOr(*request, "id", ""), ValueOr(*request, "num_trainers", 0),
                        GraceOf(*request)};
}

}  // namespace graphd::ctl
