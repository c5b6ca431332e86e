// SPDX-License-Identifier: Apache-2.0
#include "daemon/requests/kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <utility>

#include "base/clock.h"
#include "base/failure.h"
#include "base/file.h"
#include "base/strings.h"
#include "base/threads/watched_thread.h"

namespace graphd {
namespace {

constexpr std::chrono::seconds kPauseAfterFailure{5};

}  // namespace

KeptFile::~KeptFile() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void KeptFile::Read(const std::function<void(std::string_view)>& take) const {
  const std::string& path = settings_.path;
  LogFailure(settings_.read_failure, [&] {
    const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!fd && errno == ENOENT) return;
    if (!fd && errno != ELOOP) ThrowErrno("can't read", path);
    try {
      if (!fd) Throw(ErrorCode::kDenied, "it is a symbolic link");
      take(ReadAll(fd.get()));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo) throw;  // the contents may be right
      const std::string aside = path + ".damaged";
      const bool moved = ::rename(path.c_str(), aside.c_str()) == 0;
      Throw(error.code(), path, ": ", error.what(), moved ? "; it is now " + aside : "");
    }
  });
}

std::string KeptFile::ReadAll(int fd) const {
  struct stat info {};
  if (::fstat(fd, &info) != 0) ThrowErrno("can't stat", settings_.path);
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0) {
    Throw(ErrorCode::kDenied, "it is not a file that only this graphd's user can write");
  }
  if (static_cast<uint64_t>(info.st_size) > settings_.max_bytes) {
    Throw(ErrorCode::kCorrupt, "it has ", info.st_size, " bytes, more than ", settings_.max_bytes);
  }
  std::string bytes(static_cast<size_t>(info.st_size), '\0');
  ReadExactly(fd, 0, std::as_writable_bytes(std::span(bytes)), settings_.path);
  return bytes;
}

void KeptFile::Start(std::function<std::string()> contents) {
  contents_ = std::move(contents);
  thread_ = std::thread([this] { Run(); });
}

void KeptFile::NoteChange() {
  const MutexLock lock(mutex_);
  changed_ = true;
  wake_.NotifyAll();
}

void KeptFile::Run() {
  const WatchedThread watched(settings_.thread);
  bool failed = false;
  std::string written;
  for (bool ended = false; !ended;) {
    {
      const MutexLock lock(mutex_);
      const auto again = Clock::now() + kPauseAfterFailure;
      while (!changed_ && !ended_) {
        if (!failed) {
          wake_.Wait(mutex_);
        } else if (!wake_.WaitUntil(mutex_, again)) {
          break;
        }
      }
      ended = ended_;
      // The last contents may differ from the file even if NoteChange was not called.
      if (ended && !changed_ && written.empty()) return;
      changed_ = false;
    }
    try {
      std::string bytes = contents_();
      if (bytes != written) Write(bytes);
      written = std::move(bytes);
      failed = false;
    } catch (...) {
      // A failure that lasts, such as a full disk, is reported once.
      if (!failed) LogCurrentError(settings_.save_failure);
      failed = true;
    }
    const auto next = Clock::now() + settings_.pause;
    const MutexLock lock(mutex_);
    while (!ended_ && wake_.WaitUntil(mutex_, next)) {
    }
  }
}

void KeptFile::Write(const std::string& bytes) const {
  const std::string& path = settings_.path;
  MakeDirectories(DirName(path));
  const std::string temporary = path + ".tmp";
  ::unlink(temporary.c_str());
  {
    const UniqueFd fd =
        OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    WriteExactly(fd.get(), std::as_bytes(std::span(bytes)), temporary);
    if (settings_.survives_power_loss) Sync(fd.get(), temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) ThrowErrno("can't replace", path);
  if (settings_.survives_power_loss) SyncDirectory(DirName(path));
}

}  // namespace graphd
