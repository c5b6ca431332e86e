// SPDX-License-Identifier: Apache-2.0
#include "tls/key_directory.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "base/clock.h"
#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr size_t kMaxBytes = size_t{1} << 20;
// The number of times that ReadPair reads a pair, at most, if somebody replaces it all the time.
constexpr int kMaxReadings = 100;
constexpr double kMaxLockSeconds = 60;
constexpr int kLockPause = 20;  // milliseconds between two attempts

// Returns those bits of a mode that do no harm, although they give others access to a file or
// directory. There are two cases. In a directory of root with the sticky bit, nobody can replace
// the files of somebody else. A file of root may be read by its group, because root has chosen the
// group and the mode; this is allowed only if this process does not run as root, and thus reads the
// file as a member of that group. Kubernetes mounts Secrets in this way.
mode_t HarmlessBits(const struct stat& info) {
  if (info.st_uid != 0) return 0;
  if (S_ISDIR(info.st_mode)) return (info.st_mode & S_ISVTX) != 0 ? 022 : 0;
  return ::geteuid() != 0 ? S_IRGRP : 0;
}

// Throws unless only this process's user, root and the user `trusted` can change the file and, if
// it is private, read it.
void CheckPrivacy(const struct stat& info, const std::string& path, mode_t forbidden,
                  uid_t trusted) {
  if (info.st_uid != ::geteuid() && info.st_uid != 0 && info.st_uid != trusted) {
    Throw(ErrorCode::kDenied, path, " belongs to user ", info.st_uid, ", who is neither you (",
          ::geteuid(), ") nor root; change its owner with chown, or make your own keys");
  }
  const mode_t harmless = HarmlessBits(info);
  if ((info.st_mode & forbidden & ~harmless) == 0) return;
  char mode[8];
  std::snprintf(mode, sizeof mode, "%04o", static_cast<unsigned>(info.st_mode & 07777));
  const char* const allowed = S_ISDIR(info.st_mode)       ? "0700"
                              : (harmless & S_IRGRP) != 0 ? "0640"
                                                          : "0600";
  Throw(ErrorCode::kDenied, path, " has mode ", mode, ", so others can ",
        (info.st_mode & forbidden & 022) != 0 ? "change" : "read", " it; run: chmod ", allowed, " ",
        path);
}

void MakeKeyDirectory(const std::string& directory) {
  MakeDirectories(DirName(directory));
  if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
    ThrowErrno("can't create directory", directory);
  }
}

// Gives a file that root has made in a directory to the directory's owner.
void GiveToOwner(const std::string& directory, const UniqueFd& fd, const std::string& path) {
  struct stat info {};
  if (::geteuid() == 0 && ::stat(directory.c_str(), &info) == 0 &&
      ::fchown(fd.get(), info.st_uid, info.st_gid) != 0) {
    ThrowErrno("can't change the owner of", path);
  }
}

}  // namespace

KeyDirectory::KeyDirectory(const std::string& path, const std::string& server_name)
    : path_(path == "default" ? DefaultPath(server_name) : path), server_name_(server_name) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

std::string KeyDirectory::DefaultPath(const std::string& server_name) {
  if (::geteuid() == 0) return "/etc/graphd/keys/" + server_name;
  if (const char* xdg = std::getenv("XDG_CONFIG_HOME"); xdg && *xdg) {
    return StrCat(xdg, "/graphd/keys/", server_name);
  }
  const char* const home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') {
    Throw(ErrorCode::kInvalid, "HOME is not set, so there is no default directory of keys; name ",
          "one with --keys or GRAPHD_KEYS");
  }
  return StrCat(home, "/.config/graphd/keys/", server_name);
}

bool KeyDirectory::Has(const std::string& file) const { return FileExists(PathOf(file)); }

std::string KeyDirectory::Read(const std::string& file) const {
  return ReadGuarded(PathOf(file), file.ends_with(".key"),
                     StrCat("; make keys with `graphctl keys create --server_name ", server_name_,
                            "`, or name another directory with --keys or GRAPHD_KEYS"));
}

std::string ReadGuarded(const std::string& path, bool is_private, const std::string& remedy) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd && errno == ENOENT) {
    Throw(ErrorCode::kNotFound, "there is no ", path, remedy);
  }
  if (!fd) ThrowErrno("can't read", path);
  const std::string folder = DirName(path);
  struct stat directory {};
  struct stat info {};
  if (::stat(folder.c_str(), &directory) != 0) ThrowErrno("can't stat", folder);
  if (::fstat(fd.get(), &info) != 0) ThrowErrno("can't stat", path);
  const uid_t trusted = ::geteuid() == 0 ? directory.st_uid : 0;
  CheckPrivacy(directory, folder, 022, trusted);
  CheckPrivacy(info, path, is_private ? 077 : 022, trusted);
  if (!S_ISREG(info.st_mode) || info.st_size > static_cast<off_t>(kMaxBytes)) {
    Throw(ErrorCode::kInvalid, path, " is not a regular file of at most ", HumanBytes(kMaxBytes));
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  ReadExactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path);
  return text;
}

void KeyDirectory::Write(const std::string& file, const std::string& text) const {
  const std::string path = PathOf(file), directory = DirName(path);
  MakeKeyDirectory(directory);
  const std::string temporary = StrCat(path, ".", ::getpid(), ".tmp");
  ::unlink(temporary.c_str());
  const UniqueFd fd =
      OpenFile(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  GiveToOwner(directory, fd, temporary);
  WriteExactly(fd.get(), std::as_bytes(std::span(text)), temporary);
  Sync(fd.get(), temporary);
  if (::rename(temporary.c_str(), path.c_str()) != 0) ThrowErrno("can't replace", path);
  SyncDirectory(directory);
}

UniqueFd KeyDirectory::Lock() const {
  MakeKeyDirectory(path_);
  const std::string path = PathOf("lock");
  UniqueFd fd = OpenFile(path, O_RDWR | O_CREAT | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  GiveToOwner(path_, fd, path);
  const Clock::time_point start = Clock::now();
  while (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) ThrowErrno("can't lock", path);
    if (SecondsSince(start) > kMaxLockSeconds) {
      Throw(ErrorCode::kExists, "another `graphctl keys` changes ", path_,
            "; try again when it has ended");
    }
    ::poll(nullptr, 0, kLockPause);
  }
  return fd;
}

KeyPair KeyDirectory::ReadPair(const std::string& name) const {
  const std::string certificate_path = PathOf(name + ".pem"), key_path = PathOf(name + ".key");
  for (int attempt = 1;; attempt++) {
    const std::string pem = Read(name + ".pem"), keys = Read(name + ".key");
    Certificate certificate = Certificate::FromPem(pem, certificate_path);
    if (auto key = PrivateKey::Find(keys, certificate)) {
      return {std::move(certificate), std::move(*key)};
    }
    // Somebody may have replaced the pair between the two reads.
    if (attempt < kMaxReadings && Read(name + ".pem") != pem) continue;
    PrivateKey::FromPem(keys, key_path);  // throws if there is none
    Throw(ErrorCode::kInvalid, key_path, " is not the private key of ", certificate_path,
          "; copy both from the machine that made them");
  }
}

void KeyDirectory::WritePair(const std::string& name, const KeyPair& pair) const {
  const std::string key = pair.key.ToPem();
  std::string old_key;
  try {
    old_key = ReadPair(name).key.ToPem();
  } catch (const Error&) {
    // There is no old pair that anybody could use.
  }
  Write(name + ".key", key + old_key);
  Write(name + ".pem", pair.certificate.ToPem());
  Write(name + ".key", key);
}

std::vector<int64_t> KeyDirectory::Version(const std::vector<std::string>& files) const {
  std::vector<int64_t> version;
  for (const std::string& file : files) {
    const std::vector<int64_t> numbers = VersionOf(PathOf(file));
    version.insert(version.end(), numbers.begin(), numbers.end());
  }
  return version;
}

std::vector<int64_t> VersionOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) info = {};
  return {static_cast<int64_t>(info.st_ino),         static_cast<int64_t>(info.st_size),
          static_cast<int64_t>(info.st_mtim.tv_sec), static_cast<int64_t>(info.st_mtim.tv_nsec),
          static_cast<int64_t>(info.st_ctim.tv_sec), static_cast<int64_t>(info.st_ctim.tv_nsec)};
}

}  // namespace graphd
