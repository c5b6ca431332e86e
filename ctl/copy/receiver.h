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

// The receiving half of the conversation in ctl/copy/protocol.h: compares what a workspace has with
// what it shall have, and stores what comes. It trusts nothing it is told: not the order of the
// frames, nor numbers, nor paths. Whatever goes wrong is Error naming the path; the Receiver is of
// no use after that. What lies in the workspace is then still good for the next copy. Not
// thread-safe.

namespace graphd::ctl {

class Receiver {
 public:
  // `send` gets the answers, encoded as frames. `lock_seconds`: see Workspace.
  Receiver(std::function<void(const std::string& frame)> send, double lock_seconds)
      : send_(std::move(send)), lock_seconds_(lock_seconds) {}

  void OnFrame(const nlohmann::json& header, const std::string& payload);

  bool finished() const { return state_ == State::kFinished; }
  // Seconds of silence after which the sender is lost; 0: none.
  double timeout() const { return timeout_; }

 private:
  enum class State { kStart, kWants, kListed, kFinished };
  struct Wanted {
    std::string path;
    uint64_t size = 0, xxh3 = 0;
    unsigned mode = 0644;
    bool is_there = false;
    uint64_t have = 0;                          // bytes of its partial file
    std::unique_ptr<Checksum> have_checksum{};  // of those
  };
  // The file under way.
  struct Current {
    size_t file = 0;
    Workspace::Place place;
    std::string partial;  // its name while it is not whole
    UniqueFd fd;
    uint64_t done = 0, written_back = 0;  // the disk was told to write bytes up to here
    std::unique_ptr<Checksum> sum;
  };
  // What one file system has to take.
  struct DiskNeed {
    uint64_t bytes = 0, free_bytes = 0;
    std::string path;  // of one of the files
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
  // Says now and then how much was read.
  std::unique_ptr<Checksum> Hash(const UniqueFd& fd, uint64_t size, const Workspace::Place& place);

  std::function<void(const std::string&)> send_;
  const double lock_seconds_;
  double timeout_ = 0;
  State state_ = State::kStart;
  std::optional<Workspace> workspace_;
  std::vector<Wanted> files_;
  std::map<uint64_t, DiskNeed> needs_;  // by device
  std::optional<Current> current_;
  uint64_t checked_ = 0, reported_ = 0;
};

}  // namespace graphd::ctl
