// SPDX-License-Identifier: Apache-2.0
#include "ctl/copy/host_copy.h"

#include <fcntl.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/strings.h"
#include "ctl/copy/hash_file.h"
#include "ctl/copy/protocol.h"

namespace graphd::ctl {
namespace {

using nlohmann::json;
using Step = HostProgress::Step;

constexpr int kWait = 100;  // milliseconds; upper bound on the delay until an interrupt is noticed
constexpr double kMaxEndSeconds = 5;
// The amounts of output that a machine may send: for a login shell's greeting, for lines about each
// file, and for occasional reports of the number of bytes read. A peer that sends more in total is
// not a graphctl.
constexpr uint64_t kMaxGreeting = uint64_t{1} << 20, kMaxBytesPerFile = 1024;
constexpr uint64_t kFileBytesPerReportByte = uint64_t{1} << 16;
constexpr uint64_t kMaxReadBytes = uint64_t{1} << 20;
constexpr const char* kHint = "; is it a graphctl of the same version?";

uint64_t NumberOf(const json& header, const char* key) {
  const auto found = header.find(key);
  if (found != header.end() && found->is_number_unsigned()) return found->get<uint64_t>();
  Throw(ErrorCode::kCorrupt, "its answer '", header.value("t", "").substr(0, 64),
        "' has no number ", key, kHint);
}

// Returns a text in a header, cut after 4096 bytes so that it fits on a screen.
std::string TextOf(const json& header, const char* key, const char* otherwise) {
  const auto found = header.find(key);
  if (found == header.end() || !found->is_string()) return otherwise;
  return found->get<std::string>().substr(0, 4096);
}

}  // namespace

HostCopy::HostCopy(const CopyPlan& plan, const CopyHost& host,
                   const std::vector<uint64_t>& checksums, const OpenStream& open,
                   const CopyTimeouts& timeouts, const std::atomic<bool>& cancelled,
                   HostProgress& progress, const std::function<void(const std::string&)>& noise)
    : plan_(plan),
      host_(host),
      checksums_(checksums),
      timeouts_(timeouts),
      cancelled_(cancelled),
      progress_(progress),
      noise_(noise),
      stream_(open()),
      frames_([this](const json& header, const std::string&) { OnFrame(header); },
              [this](const std::string& line) { noise_(line); }),
      noise_lines_([this](std::string_view line) { noise_(std::string(line)); }),
      max_received_(kMaxGreeting + host.files.size() * kMaxBytesPerFile +
                    host.bytes / kFileBytesPerReportByte) {}

void HostCopy::List() {
  progress_.step = Step::kChecking;
  NoteProgress();
  Write(EncodeFrame({{"t", "copy"},
                     {"version", GRAPHD_VERSION},
                     {"workspace", plan_.workspace},
                     {"timeout", static_cast<uint64_t>(std::ceil(timeouts_.silence))}}));
  for (size_t index : host_.files) {
    const CopyFile& file = plan_.files[index];
    Write(EncodeFrame({{"t", "want"},
                       {"path", file.target},
                       {"size", file.source.size},
                       {"mode", file.source.mode},
                       {"xxh3", ChecksumText(checksums_[index])}}));
  }
  Write(EncodeFrame({{"t", "list"}}));
  AwaitAnswer(listed_);
  if (progress_.files_same + missing_.size() != host_.files.size()) {
    Throw(ErrorCode::kCorrupt, "it answered for ", progress_.files_same + missing_.size(),
          " files, expected ", host_.files.size(), kHint);
  }
  progress_.step = Step::kWaiting;
}

void HostCopy::Send(bool verify) {
  const Clock::time_point start = Clock::now();
  progress_.step = Step::kSending;
  NoteProgress();
  for (const MissingFile& missing : missing_) SendFile(missing);
  Write(EncodeFrame({{"t", "finish"}, {"verify", verify}}));
  progress_.step = Step::kFinishing;
  AwaitAnswer(finished_);
  if (stored_ != missing_.size()) {
    Throw(ErrorCode::kCorrupt, "it stored ", stored_, " files, expected ", missing_.size(), kHint);
  }
  progress_.seconds = SecondsSince(start);
  AwaitEnd();
}

// Waits for the receiver to exit, so that no process of the copy remains when it is reported as
// done.
void HostCopy::AwaitEnd() {
  const Clock::time_point start = Clock::now();
  while (!stream_->AtEnd() && SecondsSince(start) < kMaxEndSeconds) {
    stream_->Wait(false, kWait);
    Read();
  }
}

void HostCopy::SendFile(const MissingFile& missing) {
  const CopyFile& file = File(missing.file);
  UniqueFd fd;
  if (!file.has_text) {
    fd = OpenFile(file.source.path, O_RDONLY);
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL);
  }
  uint64_t offset = ResumeOffset(missing, file, fd.get());
  Write(EncodeFrame({{"t", "put"}, {"file", missing.file}, {"offset", offset}}));
  std::vector<char> buffer(std::min<uint64_t>(file.source.size - offset, kMaxData));
  while (offset < file.source.size) {
    const uint64_t size = std::min<uint64_t>(file.source.size - offset, kMaxData);
    std::string_view piece;
    if (file.has_text) {
      piece = std::string_view(file.text).substr(offset, size);
    } else {
      const auto bytes = std::span(buffer).first(size);
      ReadExactly(fd.get(), offset, std::as_writable_bytes(bytes), file.source.path);
      piece = {bytes.data(), bytes.size()};
    }
    Write(EncodeFrame({{"t", "data"}}, piece));
    offset += size;
    progress_.bytes_sent += size;
  }
}

// Returns the size of the machine's partial file if its content is the beginning of our file, else
// 0.
uint64_t HostCopy::ResumeOffset(const MissingFile& missing, const CopyFile& file, int fd) {
  if (missing.have == 0) return 0;
  if (file.has_text) return 0;  // too small to resume
  const auto sum =
      HashBytes(fd, missing.have, file.source.path, [this](uint64_t, std::span<const std::byte>) {
        Read();
        KeepAlive();
      });
  if (sum->Digest() != missing.have_sum) return 0;
  progress_.bytes_resumed += missing.have;
  return missing.have;
}

void HostCopy::OnFrame(const json& header) {
  const std::string kind = header.value("t", "");
  if (kind == "hello") {
    const std::string version = TextOf(header, "version", "?").substr(0, 64);
    greeted_ = true;
    if (version == GRAPHD_VERSION) return;
    Throw(ErrorCode::kVersion, "it has graphctl ", version, ", and this machine has ",
          GRAPHD_VERSION, "; install the same version on both, or name another with --graphctl");
  }
  if (kind == "error") {
    Throw(ErrorCodeFromName(TextOf(header, "code", "")), TextOf(header, "text", "it failed"));
  } else if (kind == "checking") {
    const uint64_t checked = NumberOf(header, "bytes");
    if (checked > progress_.checked) NoteProgress();
    progress_.checked = checked;
  } else if (kind == "same" && !listed_) {
    NoteProgress();
    progress_.bytes_same += File(NextFileIndex(header)).source.size;
    progress_.files_same++;
  } else if (kind == "lacks" && !listed_) {
    OnMissing(header);
  } else if (kind == "listed") {
    listed_ = true;
  } else if (kind == "stored" && stored_ < missing_.size() &&
             NumberOf(header, "file") == missing_[stored_].file) {
    NoteProgress();
    stored_++;
  } else if (kind == "finished") {
    finished_ = true;
  } else {
    Throw(ErrorCode::kCorrupt, "it sent an unexpected '", kind.substr(0, 64), "'", kHint);
  }
}

void HostCopy::OnMissing(const json& header) {
  MissingFile missing{NextFileIndex(header), NumberOf(header, "have"), 0};
  const uint64_t size = File(missing.file).source.size;
  if (missing.have > size) {
    Throw(ErrorCode::kCorrupt, "it has ", missing.have, " of the ", size, " bytes of ",
          File(missing.file).target, kHint);
  }
  if (missing.have > 0) missing.have_sum = ParseChecksum(TextOf(header, "xxh3", ""));
  NoteProgress();
  progress_.files_missing++;
  progress_.bytes_missing += size;
  missing_.push_back(missing);
}

size_t HostCopy::NextFileIndex(const json& header) const {
  const uint64_t index = NumberOf(header, "file"), next = progress_.files_same + missing_.size();
  if (index == next && index < host_.files.size()) return static_cast<size_t>(index);
  Throw(ErrorCode::kCorrupt, "it answered for file ", index, ", expected ", next, " of ",
        host_.files.size(), kHint);
}

void HostCopy::Write(const std::string& frame, bool is_progress) {
  std::string_view left = frame;
  while (!left.empty()) {
    const bool ended = stream_->AtEnd();
    Read();
    if (ended) ThrowEnded();
    const size_t put = stream_->WriteSome(left);
    left.remove_prefix(put);
    if (put > 0 && is_progress) NoteProgress();
    CheckStall();
    if (put == 0) stream_->Wait(true, kWait);
  }
  last_write_ = Clock::now();
}

void HostCopy::Read() {
  char bytes[65536];
  for (uint64_t read = 0; read < kMaxReadBytes || stream_->AtEnd();) {
    if (cancelled_) Throw(ErrorCode::kUnavailable, "interrupted");
    const size_t out = stream_->Read(false, bytes, sizeof bytes);
    CountReceived(out);
    if (out > 0) frames_.Feed({bytes, out});
    const size_t err = stream_->Read(true, bytes, sizeof bytes);
    CountReceived(err);
    if (err > 0) noise_lines_.Feed({bytes, err});
    if (out + err == 0) return;
    read += out + err;
  }
}

void HostCopy::CountReceived(size_t bytes) {
  received_ += bytes;
  if (received_ <= max_received_) return;
  Throw(ErrorCode::kCorrupt, "it sent more than ", HumanBytes(max_received_),
        ", far more than a copy needs", kHint);
}

void HostCopy::CheckStall() const {
  if (timeouts_.stall <= 0 || SecondsSince(last_progress_) <= timeouts_.stall) return;
  Throw(ErrorCode::kUnavailable, "it made no progress for ", timeouts_.stall,
        " s; check its disk and run the copy again, which continues where it stopped (or increase "
        "--stall_timeout)");
}

void HostCopy::AwaitAnswer(const bool& answered) {
  while (true) {
    const bool ended = stream_->AtEnd();
    Read();
    if (answered) return;
    if (ended) ThrowEnded();
    CheckStall();
    Ping();
    stream_->Wait(false, kWait);
  }
}

void HostCopy::KeepAlive() {
  NoteProgress();  // the machine has no task now
  Ping();
}

void HostCopy::Ping() {
  if (timeouts_.silence > 0 && SecondsSince(last_write_) > timeouts_.silence / 4) {
    Write(EncodeFrame({{"t", "ping"}}), false);
  }
}

void HostCopy::ThrowEnded() {
  noise_lines_.Finish();
  const std::string why = stream_->WhyItEnded();
  if (!greeted_) {
    Throw(ErrorCode::kNotFound, "its graphctl could not be run (", why,
          "); install it there, or name it with --graphctl");
  }
  Throw(ErrorCode::kUnavailable, "its graphctl ended before the copy was complete (", why,
        "); run the copy again, which continues where it stopped");
}

}  // namespace graphd::ctl
