// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "ctl/copy/workspace.h"
#include "format/io/checksum.h"

// The receiver's side of the protocol in ctl/copy/protocol.h: compares the files of a workspace
// with the required ones and stores the missing ones. It does not trust its input: neither the
// order of frames nor numbers nor paths. Every failure is an Error that names the path. After an
// Error, this object must not be used any more; the next copy can continue with the files that it
// leaves in the workspace. Not thread-safe.

namespace graphd::ctl {

class Receiver {
 public:
  // `send` receives the answers, encoded as frames. `lock_seconds`: see Workspace.
  Receiver(std::function<void(const std::string& frame)> send, double lock_seconds)
      : send_(std::move(send)), lock_seconds_(lock_seconds) {}

  void OnFrame(const nlohmann::json& header, const std::string& payload);

  bool finished() const { return state_ == State::kFinished; }
  // The sender is regarded as lost after so many seconds of silence; 0: never.
  double timeout() const { return timeout_; }

 private:
  enum class State { kStart, kWants, kListed, kFinished };
  struct Wanted {
    std::string path;
    uint64_t size = 0, xxh3 = 0;
    unsigned mode = 0644;
    bool is_there = false;
    uint64_t have = 0;                          // size of what an earlier copy left
    std::unique_ptr<Checksum> have_checksum{};  // checksum of the partial file
  };
  // The file that is being received.
  struct Current {
    size_t file = 0;
    Workspace::Place place;
    std::string partial;  // the file's name until it is complete
    UniqueFd fd;
    uint64_t done = 0, written_back = 0;  // the kernel was told to write the bytes up to here
    std::unique_ptr<Checksum> sum;
  };
  // The space that is needed on one file system; 0 bytes if all of its files are there.
  struct DiskNeed {
    uint64_t bytes = 0, free_bytes = 0;
    std::string path;  // one of the files there
  };

  void OnCopy(const nlohmann::json& header);
  void OnWant(const nlohmann::json& header);
  void OnList();
  void OnPut(const nlohmann::json& header);
  void OnData(const std::string& payload);
  void OnFinish(const nlohmann::json& header);

  bool IsThere(const Wanted& file, const Workspace::Place& place);
  void FindPartial(Wanted& file, const Workspace::Place& place);
  void CheckRoom() const;
  static void WriteBack(Current& current);
  void Store();
  void VerifyStoredFiles();
  // Reports the number of bytes read at intervals.
  std::unique_ptr<Checksum> Hash(const UniqueFd& fd, uint64_t size, const Workspace::Place& place);

  std::function<void(const std::string&)> send_;
  const double lock_seconds_;
  double timeout_ = 0;
  State state_ = State::kStart;
  std::optional<Workspace> workspace_;
  std::vector<Wanted> files_;
  std::map<uint64_t, DiskNeed> needs_;  // keyed by device
  std::optional<Current> current_;
  uint64_t checked_ = 0, reported_ = 0;
};

}  // namespace graphd::ctl
