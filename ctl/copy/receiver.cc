// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/receiver.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "ctl/copy/hash_file.h"
#include "ctl/copy/protocol.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/plan/relative_path.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;

constexpr uint64_t kWriteBack = uint64_t{64} << 20;    // bytes; two such windows are in flight
constexpr uint64_t kReportBytes = uint64_t{64} << 20;  // bytes read between two progress reports

uint64_t Number(const json& header, const char* key, uint64_t max) {
  const auto found = header.find(key);
  const bool good =
      found != header.end() && found->is_number_unsigned() && found->get<uint64_t>() <= max;
  if (good) return found->get<uint64_t>();
  Throw(ErrorCode::kInvalid, "the sender's ", key, " is ",
        found == header.end() ? "missing" : found->dump().substr(0, 64), ", expected 0 to ", max,
        "; is it a graphctl of the same version?");
}

std::string Text(const json& header, const char* key) {
  const auto found = header.find(key);
  if (found != header.end() && found->is_string()) return found->get<std::string>();
  Throw(ErrorCode::kInvalid, "the sender's ", key,
        " is not a text; is it a graphctl of the same version?");
}

UniqueFd OpenAt(const Workspace::Place& place, const std::string& name, int flags) {
  UniqueFd fd(::openat(place.directory.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) ThrowErrno("can't open", DirName(place.shown) + "/" + name);
  return fd;
}

[[noreturn]] void DiskFull(const std::string& path, uint64_t needed, uint64_t free_bytes) {
  Throw(ErrorCode::kOverloaded, path, ": the disk is full: ", HumanBytes(needed), " (", needed,
        " bytes) are needed and ", HumanBytes(free_bytes), " (", free_bytes,
        " bytes) are free; make room and run the copy again, which continues where it stopped");
}

}  // namespace

void Receiver::OnFrame(const json& header, const std::string& payload) {
  const std::string kind = header.value("t", "");
  if (kind == "ping") return;
  if (kind == "copy" && state_ == State::kStart) return OnCopy(header);
  if (kind == "want" && state_ == State::kWants) return OnWant(header);
  if (kind == "list" && state_ == State::kWants) return OnList();
  if (kind == "put" && state_ == State::kListed && !current_) return OnPut(header);
  if (kind == "data" && current_) return OnData(payload);
  if (kind == "finish" && state_ == State::kListed && !current_) return OnFinish(header);
  Throw(ErrorCode::kInvalid, "the sender sent an unexpected '", kind.substr(0, 64),
        "'; is it a graphctl of the same version?");
}

void Receiver::OnCopy(const json& header) {
  const std::string version = Text(header, "version");
  if (version != GRAPHD_VERSION) {
    Throw(ErrorCode::kVersion, "this host has graphctl ", GRAPHD_VERSION, " and the sender has ",
          version.substr(0, 64), "; install the same version on both");
  }
  timeout_ = static_cast<double>(Number(header, "timeout", 1 << 20));
  workspace_.emplace(Text(header, "workspace"), lock_seconds_);
  state_ = State::kWants;
}

void Receiver::OnWant(const json& header) {
  if (files_.size() == kMaxFiles) {
    Throw(ErrorCode::kInvalid, "the copy has more than ", kMaxFiles,
          " files; pack small files into archives");
  }
  Wanted file;
  file.path = Text(header, "path");
  PathSteps(file.path, "path");
  // This limit keeps sums of sizes far below 2^64.
  file.size = Number(header, "size", uint64_t{1} << 43);
  file.mode = static_cast<unsigned>(Number(header, "mode", 0777));
  file.xxh3 = ParseChecksum(Text(header, "xxh3"));
  files_.push_back(std::move(file));
}

void Receiver::OnList() {
  for (size_t i = 0; i < files_.size(); i++) {
    Wanted& file = files_[i];
    const Workspace::Place place = workspace_->Find(file.path, false);
    file.is_there = IsThere(file, place);
    if (file.is_there) {
      send_(EncodeFrame({{"t", "same"}, {"file", i}}));
      continue;
    }
    FindPartial(file, place);
    json lacks = {{"t", "lacks"}, {"file", i}, {"have", file.have}};
    if (file.have_checksum) lacks["xxh3"] = ChecksumText(file.have_checksum->Digest());
    send_(EncodeFrame(std::move(lacks)));
  }
  CheckRoom();
  uint64_t bytes = 0;
  for (const auto& [device, need] : needs_) bytes += need.bytes;
  state_ = State::kListed;
  send_(EncodeFrame({{"t", "listed"}, {"bytes", bytes}}));
}

// Returns whether the workspace already has the file. If only its permissions differ, corrects
// them.
bool Receiver::IsThere(const Wanted& file, const Workspace::Place& place) {
  const auto info = StatFile(place, place.name);
  if (!info || static_cast<uint64_t>(info->st_size) != file.size) return false;
  const UniqueFd fd = OpenAt(place, place.name, O_RDONLY);
  if (Hash(fd, file.size, place)->Digest() != file.xxh3) return false;
  if ((info->st_mode & 0777) != file.mode && ::fchmod(fd.get(), file.mode) != 0) {
    ThrowErrno("can't set the permissions of", place.shown);
  }
  ::unlinkat(place.directory.get(), PartialName(place.name).c_str(),
             0);  // left by an earlier copy
  // The earlier copy may have been killed before it has synced the file.
  DiskNeed& need = needs_[info->st_dev];
  if (need.path.empty()) need.path = place.shown;
  return true;
}

void Receiver::FindPartial(Wanted& file, const Workspace::Place& place) {
  const std::string name = PartialName(place.name);
  const auto info = StatFile(place, name);
  uint64_t allocated = 0;
  if (info) allocated = static_cast<uint64_t>(info->st_blocks) * 512;
  if (info && info->st_size > 0 && static_cast<uint64_t>(info->st_size) <= file.size) {
    const UniqueFd fd = OpenAt(place, name, O_RDONLY);
    file.have = static_cast<uint64_t>(info->st_size);
    file.have_checksum = Hash(fd, file.have, place);
  }
  const Workspace::Room room = workspace_->RoomFor(file.path);
  DiskNeed& need = needs_[room.device];
  need.bytes += file.size - std::min(file.size, allocated);
  need.free_bytes = room.free_bytes;
  need.path = place.shown;
}

void Receiver::CheckRoom() const {
  for (const auto& [device, need] : needs_) {
    if (need.bytes > need.free_bytes) DiskFull(DirName(need.path), need.bytes, need.free_bytes);
  }
}

void Receiver::OnPut(const json& header) {
  const auto index = static_cast<size_t>(Number(header, "file", kMaxFiles));
  if (index >= files_.size() || files_[index].is_there) {
    Throw(ErrorCode::kInvalid, "the sender sent file ", index, ", which is not missing");
  }
  Wanted& file = files_[index];
  const uint64_t offset = Number(header, "offset", file.size);
  if (offset != 0 && (offset != file.have || !file.have_checksum)) {
    Throw(ErrorCode::kInvalid, file.path, ": the sender continues at offset ", offset,
          ", expected 0 or ", file.have);
  }
  Current next;
  next.file = index;
  next.place = workspace_->Find(file.path, true);
  next.partial = PartialName(next.place.name);
  StatFile(next.place, next.partial);  // rejects anything but a regular file
  next.fd = OpenAt(next.place, next.partial, O_RDWR | O_CREAT | O_NONBLOCK);
  const uint64_t length = static_cast<uint64_t>(::lseek(next.fd.get(), 0, SEEK_END));
  if (offset != 0 && length != offset) {
    Throw(ErrorCode::kCorrupt, next.place.shown, ": its partial file has changed during the copy");
  }
  if (offset == 0 && ::ftruncate(next.fd.get(), 0) != 0) ThrowErrno("can't empty", next.partial);
  // Reserves the space now without changing the length. Some file systems do not support this.
  if (file.size > offset &&
      ::fallocate(next.fd.get(), FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(file.size)) != 0) {
    if (errno == ENOSPC || errno == EDQUOT) {
      DiskFull(next.place.shown, file.size - offset, workspace_->RoomFor(file.path).free_bytes);
    }
  }
  next.done = next.written_back = offset;
  next.sum = offset == 0 ? std::make_unique<Checksum>() : std::move(file.have_checksum);
  current_ = std::move(next);
  if (offset == file.size) Store();
}

void Receiver::OnData(const std::string& payload) {
  const Wanted& file = files_[current_->file];
  if (payload.empty() || payload.size() > file.size - current_->done) {
    Throw(ErrorCode::kInvalid, file.path, ": the sender sent ", payload.size(), " bytes at offset ",
          current_->done, " of ", file.size);
  }
  const auto bytes = std::as_bytes(std::span(payload));
  for (size_t put = 0; put < bytes.size();) {
    const ssize_t count = ::pwrite(current_->fd.get(), bytes.data() + put, bytes.size() - put,
                                   static_cast<off_t>(current_->done + put));
    if (count > 0) {
      put += static_cast<size_t>(count);
    } else if (count < 0 && (errno == ENOSPC || errno == EDQUOT)) {
      DiskFull(current_->place.shown, file.size - current_->done - put,
               workspace_->RoomFor(file.path).free_bytes);
    } else if (count == 0 || errno != EINTR) {
      ThrowErrno("can't write", current_->place.shown);
    }
  }
  current_->sum->Update(bytes);
  current_->done += bytes.size();
  WriteBack(*current_);
  if (current_->done == file.size) Store();
}

// Once a window of kWriteBack bytes has been received, starts writing it to the disk and waits
// until the previous window is written. Thus little is left to write at the end, when no progress
// can be reported, and a hanging disk is noticed soon.
void Receiver::WriteBack(Current& current) {
  if (current.done - current.written_back < kWriteBack) return;
  const auto begin = static_cast<off_t>(current.written_back);
  const auto size = static_cast<off_t>(current.done - current.written_back);
  const auto before = std::min(begin, static_cast<off_t>(kWriteBack));
  // Some file systems do not support this; the final sync reports write errors.
  ::sync_file_range(current.fd.get(), begin, size, SYNC_FILE_RANGE_WRITE);
  if (before > 0) {
    ::sync_file_range(
        current.fd.get(), begin - before, before,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
  current.written_back = current.done;
}

void Receiver::Store() {
  const Current done = *std::exchange(current_, std::nullopt);
  Wanted& file = files_[done.file];
  const std::string& shown = done.place.shown;
  if (done.sum->Digest() != file.xxh3) {
    ::unlinkat(done.place.directory.get(), done.partial.c_str(), 0);
    Throw(ErrorCode::kCorrupt, shown, ": checksum ", ChecksumText(done.sum->Digest()),
          " of the received bytes, expected ", ChecksumText(file.xxh3),
          "; the source changed, or the bytes were damaged in transit: run the copy again");
  }
  if (::fchmod(done.fd.get(), file.mode) != 0) ThrowErrno("can't set the permissions of", shown);
  StatFile(done.place, done.place.name);  // refuses to replace anything but a regular file
  if (::renameat(done.place.directory.get(), done.partial.c_str(), done.place.directory.get(),
                 done.place.name.c_str()) != 0) {
    ThrowErrno("can't rename to", shown);
  }
  file.is_there = true;
  send_(EncodeFrame({{"t", "stored"}, {"file", done.file}}));
}

void Receiver::OnFinish(const json& header) {
  for (const Wanted& file : files_) {
    if (!file.is_there) Throw(ErrorCode::kInvalid, file.path, ": the sender has not sent it");
  }
  for (const auto& [device, need] : needs_) {
    const std::string relative = need.path.substr(workspace_->path().size() + 1);
    if (::syncfs(workspace_->Find(relative, false).directory.get()) != 0) {
      ThrowErrno("can't write back", DirName(need.path));
    }
  }
  if (header.value("verify", false)) VerifyStoredFiles();
  state_ = State::kFinished;
  send_(EncodeFrame({{"t", "finished"}}));
}

void Receiver::VerifyStoredFiles() {
  for (const Wanted& file : files_) {
    const Workspace::Place place = workspace_->Find(file.path, false);
    if (!StatFile(place, place.name))
      Throw(ErrorCode::kNotFound, place.shown, " was removed during the copy");
    const UniqueFd fd = OpenAt(place, place.name, O_RDONLY);
    ::posix_fadvise(fd.get(), 0, 0,
                    POSIX_FADV_DONTNEED);  // drops the page cache, so that the disk is read
    const uint64_t found = Hash(fd, file.size, place)->Digest();
    if (found == file.xxh3) continue;
    Throw(ErrorCode::kCorrupt, place.shown, ": checksum ", ChecksumText(found),
          " when read again, expected ", ChecksumText(file.xxh3),
          "; does another process write there, or is the disk damaged?");
  }
}

std::unique_ptr<Checksum> Receiver::Hash(const UniqueFd& fd, uint64_t size,
                                         const Workspace::Place& place) {
  return HashBytes(fd.get(), size, place.shown, [this](uint64_t, std::span<const std::byte> piece) {
    checked_ += piece.size();
    if (checked_ - reported_ < kReportBytes) return;
    reported_ = checked_;
    send_(EncodeFrame({{"t", "checking"}, {"bytes", checked_}}));
  });
}

}  // namespace graphd::ctl
