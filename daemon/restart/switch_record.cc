// SPDX-License-Identifier: Apache-2.0
#include "daemon/restart/switch_record.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <span>
#include <string_view>

#include "base/failure.h"
#include "base/file.h"
#include "base/strings.h"

namespace graphd {
namespace {

constexpr std::string_view kHeader = "graphd switch 1\n";
constexpr off_t kMaxBytes = off_t{64} << 10;

std::string NextPath(const std::string& path) { return path + ".next"; }

// Cuts the line "<key> <value>" off `rest` and returns the value.
std::string TakeValue(const std::string& key, std::string_view& rest) {
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos || !rest.starts_with(key + " ")) {
    Throw(ErrorCode::kCorrupt, "it has no line with '", key, "'");
  }
  std::string value(rest.substr(key.size() + 1, end - key.size() - 1));
  rest.remove_prefix(end + 1);
  return value;
}

}  // namespace

bool IsSamePartConfig(const std::string& a, const std::string& b) {
  const auto normal = [](const std::string& path) {
    std::error_code ignored;
    return std::filesystem::absolute(path, ignored).lexically_normal();
  };
  return a == b || normal(a) == normal(b);
}

bool SwitchRecord::Holds(const std::string& now) const {
  return IsSamePartConfig(now, configured) || IsSamePartConfig(now, part_config);
}

std::optional<SwitchRecord> SwitchRecord::Read(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd && errno == ENOENT) return std::nullopt;
  if (!fd) ThrowErrno("can't read", path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) ThrowErrno("can't stat", path);
  if (!S_ISREG(info.st_mode) || info.st_uid != ::geteuid() || (info.st_mode & 022) != 0 ||
      info.st_size > kMaxBytes) {
    Throw(ErrorCode::kDenied, path, " is not a file that only this graphd's user can write; ",
          "remove it to serve the part config of the configuration");
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  ReadExactly(fd.get(), 0, std::as_writable_bytes(std::span(text)), path);
  std::string_view rest = text;
  try {
    if (!rest.starts_with(kHeader)) {
      Throw(ErrorCode::kCorrupt, "it does not begin as such files do");
    }
    rest.remove_prefix(kHeader.size());
    SwitchRecord record;
    record.configured = TakeValue("configured", rest);
    record.part_config = TakeValue("part_config", rest);
    record.id = TakeValue("id", rest);
    record.fingerprint = TakeValue("fingerprint", rest);
    return record;
  } catch (const Error& error) {
    Throw(ErrorCode::kCorrupt, path, " is damaged (", error.what(),
          "); remove it to serve the part config of the configuration");
  }
}

void SwitchRecord::Prepare(const std::string& path) const {
  for (const std::string* value : {&configured, &part_config, &id, &fingerprint}) {
    if (value->find('\n') == std::string::npos) continue;
    Throw(ErrorCode::kInvalid, "the path of the part config has a line break");
  }
  MakeDirectories(DirName(path));
  WriteFileAtomically(NextPath(path),
                      StrCat(kHeader, "configured ", configured, "\npart_config ", part_config,
                             "\nid ", id, "\nfingerprint ", fingerprint, "\n"));
}

void SwitchRecord::Publish(const std::string& path) {
  if (::rename(NextPath(path).c_str(), path.c_str()) != 0) ThrowErrno("can't write", path);
  // The note counts from here on; only a loss of power could bring the previous note back.
  LogFailure("writing the directory of the note about a switch",
             [&] { SyncDirectory(DirName(path)); });
}

void SwitchRecord::Discard(const std::string& path) noexcept { ::unlink(NextPath(path).c_str()); }

}  // namespace graphd
