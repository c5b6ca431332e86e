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
    try {
      const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
      if (!fd && errno == ENOENT) return;
      if (!fd) ThrowErrno("can't read", path);
      take(ReadAll(fd.get()));
    } catch (const Error& error) {
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
      while (!changed_ && !ended_) wake_.Wait(mutex_);
      ended = ended_;
      if (!changed_ && !failed) return;
      changed_ = false;
    }
    try {
      std::string bytes = contents_();
      if (bytes != written) Write(bytes);
      written = std::move(bytes);
      failed = false;
    } catch (...) {
      // A full disk is reported once.
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
  const std::string temporary = StrCat(path, ".", ::getpid(), ".tmp");
  ::unlink(temporary.c_str());
  {
    const UniqueFd fd =
        OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
    WriteExactly(fd.get(), std::as_bytes(std::span(bytes)), temporary);
    if (settings_.survives_power_loss) Sync(fd.get(), temporary);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) ThrowErrno("can't replace", path);
}

}  // namespace graphd
