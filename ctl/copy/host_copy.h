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

// The sending half of the conversation in ctl/copy/protocol.h with one machine. Belongs to one
// thread; only `progress` may be read by others meanwhile. What the machine says is not trusted.
// Errors are Error without the host's name.

namespace graphd::ctl {

// In what state a machine's copy is. Written by its thread, read by the one that draws.
struct HostProgress {
  enum class Step {
    kConnecting,
    kChecking,  // the machine looks what it has
    kWaiting,   // for other machines
    kSending,
    kFinishing,  // the machine writes to its disk
    kDone,
    kSkipped,  // because another machine can't be copied to
    kFailed,
  };
  std::atomic<Step> step{Step::kConnecting};
  std::atomic<uint64_t> checked{0};  // bytes that the machine has read
  std::atomic<uint64_t> files_same{0}, bytes_same{0};
  std::atomic<uint64_t> files_missing{0}, bytes_missing{0};
  std::atomic<uint64_t> bytes_resumed{0};  // of the missing: left from an interrupted copy
  std::atomic<uint64_t> bytes_sent{0};
  std::atomic<double> seconds{0};  // from the first byte sent to the end
};

// Seconds after which one side gives the other up; 0: never.
struct CopyTimeouts {
  double silence = 0;  // the machine us, when it hears nothing; rounded up
  double stall = 0;    // we the machine, when it takes no byte and gets no further
};

class HostCopy {
 public:
  using OpenStream = std::function<std::unique_ptr<HostStream>()>;
  // `checksums`: of the plan's files. All that is referred to must outlive this. Opens the stream.
  HostCopy(const CopyPlan& plan, const CopyHost& host, const std::vector<uint64_t>& checksums,
           const OpenStream& open, const CopyTimeouts& timeouts, const std::atomic<bool>& cancelled,
           HostProgress& progress, const std::function<void(const std::string&)>& noise);

  // Asks what is there. Throws Error(kOverloaded) if there is no room for the rest.
  void List();
  // Sends what is missing, and waits until it is on the machine's disk.
  void Send(bool verify);
  // To be called often while nothing else is. Keeps the machine from giving us up.
  void KeepAlive();

 private:
  struct MissingFile {
    size_t file = 0;  // index into host_.files
    uint64_t have = 0, have_sum = 0;
  };

  void OnFrame(const nlohmann::json& header);
  void OnMissing(const nlohmann::json& header);
  // The file it answers for: they come in order, each once.
  size_t NextFileIndex(const nlohmann::json& header) const;
  const CopyFile& File(size_t index) const { return plan_.files[host_.files[index]]; }
  // `is_progress`: what it takes of the frame shows that it gets on.
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
