// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/job_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <span>
#include <utility>
#include <vector>

#include "base/failure.h"
#include "base/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd {
namespace {

constexpr std::string_view kHeader = "graphd jobs 1\n";
constexpr size_t kMaxBytes = size_t{64} << 20;
// The pause between two writes: many jobs that come at once are written together.
constexpr std::chrono::milliseconds kPause{50};
constexpr char kNothing[] = "-";

std::string Encode(const std::string& bytes) {
  if (bytes.empty()) return kNothing;
  std::string text;
  for (const char each : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned char>(each) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned char>(each) & 15];
  }
  return text;
}

template <class T>
T ParseNumber(std::string_view text, int base) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
    Throw(ErrorCode::kCorrupt, "a number is damaged");
  }
  return number;
}

std::string Decode(std::string_view text) {
  if (text == kNothing) return {};
  if (text.size() % 2 != 0) Throw(ErrorCode::kCorrupt, "a text is damaged");
  std::string bytes;
  for (size_t i = 0; i < text.size(); i += 2) {
    bytes += static_cast<char>(ParseNumber<unsigned char>(text.substr(i, 2), 16));
  }
  return bytes;
}

// Cuts the text up to the next `separator`, which must be there, off `rest`.
std::string_view TakeUntil(char separator, std::string_view& rest) {
  const size_t end = rest.find(separator);
  if (end == std::string_view::npos) Throw(ErrorCode::kCorrupt, "its last line is not whole");
  const std::string_view taken = rest.substr(0, end);
  rest.remove_prefix(end + 1);
  return taken;
}

}  // namespace

std::string JobFile::ToText(const CredentialsOfJobs& jobs) {
  std::string text(kHeader);
  for (const auto& [job_id, credentials] : jobs) {
    text += StrCat(Encode(credentials.secret_hash), " ",
                   credentials.uid ? StrCat(*credentials.uid) : kNothing, " ",
                   credentials.has_secret ? 1 : 0, " ", Encode(credentials.certificate), " ",
                   Encode(job_id), "\n");
  }
  return text;
}

CredentialsOfJobs JobFile::FromText(std::string_view text) {
  if (!text.starts_with(kHeader)) {
    Throw(ErrorCode::kCorrupt, "it does not begin as such files do");
  }
  text.remove_prefix(kHeader.size());
  CredentialsOfJobs jobs;
  while (!text.empty()) {
    std::string_view line = TakeUntil('\n', text);
    JobCredentials credentials;
    credentials.secret_hash = Decode(TakeUntil(' ', line));
    const std::string_view uid = TakeUntil(' ', line);
    if (uid != kNothing) credentials.uid = ParseNumber<uid_t>(uid, 10);
    credentials.has_secret = ParseNumber<unsigned>(TakeUntil(' ', line), 10) != 0;
    credentials.certificate = Decode(TakeUntil(' ', line));
    jobs[Decode(line)] = std::move(credentials);
  }
  return jobs;
}

JobFile::JobFile(std::string path) : path_(std::move(path)) {
  LogFailure("can't read the saved credentials of jobs, so others may take their names", [&] {
    const UniqueFd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd && errno == ENOENT) return;
    if (!fd) ThrowErrno("can't read", path_);
    struct stat info {};
    if (::fstat(fd.get(), &info) != 0) ThrowErrno("can't stat", path_);
    if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0 ||
        info.st_size > static_cast<off_t>(kMaxBytes)) {
      Throw(ErrorCode::kDenied, path_, " is not a file that only this graphd's user can write; ",
            "it is replaced");
    }
    std::string text(static_cast<size_t>(info.st_size), '\0');
    ReadExactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path_);
    try {
      read_ = FromText(text);
    } catch (const Error& error) {
      Throw(ErrorCode::kCorrupt, path_, " is damaged (", error.what(), "); it is replaced");
    }
  });
}

JobFile::~JobFile() {
  if (registry_ == nullptr) return;
  registry_->SetOnChange(nullptr);
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void JobFile::Keep(JobRegistry& registry) {
  registry_ = &registry;
  registry.Expect(std::exchange(read_, {}));
  registry.SetOnChange([this] {
    const MutexLock lock(mutex_);
    changed_ = true;
    wake_.NotifyAll();
  });
  thread_ = std::thread([this] { Run(); });
}

void JobFile::Run() {
  const WatchedThread watched("job file");
  bool failed = false;
  std::string written;
  for (bool ended = false; !ended;) {
    {
      const MutexLock lock(mutex_);
      while (!changed_ && !ended_) wake_.Wait(mutex_);
      ended = ended_;
      changed_ = false;
    }
    try {
      std::string text = ToText(registry_->Credentials());
      if (text != written) Write(text);
      written = std::move(text);
      failed = false;
    } catch (...) {
      // A full disk is reported once; the next change is written again.
      if (!failed) {
        LogCurrentError(
            "can't save the credentials of jobs; after a restart of graphd, "
            "others may take their names");
      }
      failed = true;
    }
    const auto next = Clock::now() + kPause;
    const MutexLock lock(mutex_);
    while (!ended_ && wake_.WaitUntil(mutex_, next)) {
    }
  }
}

void JobFile::Write(const std::string& text) const {
  MakeDirectories(DirName(path_));
  const std::string temporary = StrCat(path_, ".", ::getpid(), ".tmp");
  ::unlink(temporary.c_str());
  {
    // A loss of power may lose the file: jobs do not outlive that.
    const UniqueFd fd =
        OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    WriteExactly(fd.get(), std::as_bytes(std::span(text)), temporary);
  }
  if (::rename(temporary.c_str(), path_.c_str()) != 0) ThrowErrno("can't replace", path_);
}

}  // namespace graphd
