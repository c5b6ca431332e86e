// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ctl/hosts/frame_reader.h"
#include "ctl/hosts/host_stream.h"
#include "ctl/hosts/line_splitter.h"
#include "ctl/plan/copy_plan.h"

// The sender's side of the protocol in ctl/copy/protocol.h, for one machine. Owned by one thread;
// only `progress` may be read by other threads. The machine's messages are not trusted. Errors do
// not contain the host's name.

namespace graphd::ctl {

// The state of one machine's copy. Written by its thread and read by the thread that draws.
struct HostProgress {
  enum class Step {
    kConnecting,
    kChecking,  // the machine is comparing its files
    kWaiting,   // for its turn
    kSending,
    kFinishing,  // the machine is writing to its disk
    kDone,
    kSkipped,  // another machine can't be copied to
    kFailed,
  };
  std::atomic<Step> step{Step::kConnecting};
  std::atomic<uint64_t> checked{0};  // bytes that the machine has read
  std::atomic<uint64_t> files_same{0}, bytes_same{0};
  std::atomic<uint64_t> files_missing{0}, bytes_missing{0};
  std::atomic<uint64_t> bytes_resumed{0};  // part of bytes_missing: left from an interrupted copy
  std::atomic<uint64_t> bytes_sent{0};
  std::atomic<double> seconds{0};  // duration from the first byte sent to the end
};

// Seconds after which one side considers the other lost; 0: never.
struct CopyTimeouts {
  double silence = 0;  // the machine gives up if it receives nothing for this time; rounded up
  double stall = 0;    // we give up if the machine accepts no byte and reports no progress for this
                       // time
};

class HostCopy {
 public:
  using OpenStream = std::function<std::unique_ptr<HostStream>()>;
  // Opens the stream. `checksums`: the checksums of the plan's files. All arguments that are
  // references must outlive this object.
  HostCopy(const CopyPlan& plan, const CopyHost& host, const std::vector<uint64_t>& checksums,
           const OpenStream& open, const CopyTimeouts& timeouts, const std::atomic<bool>& cancelled,
           HostProgress& progress, const std::function<void(const std::string&)>& noise);

  // Asks which files the machine has. Throws Error(kOverloaded) if its disk has no room for the
  // missing files.
  void List();
  // Sends the missing files and waits until they are on the machine's disk.
  void Send(bool verify);
  // Sends a ping if nothing was sent for a while, so that the machine does not consider us lost.
  // Must be called often while no other function runs.
  void KeepAlive();

 private:
  struct MissingFile {
    size_t file = 0;  // index into host_.files
    uint64_t have = 0, have_sum = 0;
  };

  void OnFrame(const nlohmann::json& header);
  void OnMissing(const nlohmann::json& header);
  // Returns the index of the file that an answer is about. Answers come in the order of the files,
  // one for each.
  size_t NextFileIndex(const nlohmann::json& header) const;
  const CopyFile& File(size_t index) const { return plan_.files[host_.files[index]]; }
  // `is_progress`: whether bytes that the machine accepts count as progress.
  void Write(const std::string& frame, bool is_progress = true);
  void Ping();
  void Read();
  void CountReceived(size_t bytes);
  void NoteProgress() { last_progress_ = Clock::now(); }
  void CheckStall() const;
  void AwaitAnswer(const bool& answered);
  void AwaitEnd();
  void SendFile(const MissingFile& missing);
  uint64_t ResumeOffset(const MissingFile& missing, const CopyFile& file, int fd);
  [[noreturn]] void ThrowEnded();

  const CopyPlan& plan_;
  const CopyHost& host_;
  const std::vector<uint64_t>& checksums_;
  const CopyTimeouts timeouts_;
  const std::atomic<bool>& cancelled_;
  HostProgress& progress_;
  std::function<void(const std::string&)> noise_;
  std::unique_ptr<HostStream> stream_;
  FrameReader frames_;
  LineSplitter noise_lines_;
  std::vector<MissingFile> missing_;
  size_t stored_ = 0;
  bool greeted_ = false, listed_ = false, finished_ = false;
  Clock::time_point last_write_ = Clock::now(), last_progress_ = Clock::now();
  uint64_t received_ = 0, max_received_ = 0;  // bytes
};

}  // namespace graphd::ctl
