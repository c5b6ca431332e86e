// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/threads/mutex.h"

namespace graphd {

// A file of the state directory by which something outlives the daemon, and which only the daemon's
// user can write. It is replaced as a whole, by a thread of its own: nobody waits for the disk, and
// changes that come within a pause are written together. A disk that fails is logged once, and
// tried again every few seconds. Owned by the main thread.
class KeptFile {
 public:
  struct Settings {
    std::string path;
    size_t max_bytes = 0;             // a larger file is not read
    std::chrono::milliseconds pause;  // between two writes
    bool survives_power_loss = false;
    std::string thread;  // the thread's name
    // The beginnings of what is logged if the file can't be used, and if it can't be written.
    const char* read_failure = "";
    const char* save_failure = "";
  };

  explicit KeptFile(Settings settings) : settings_(std::move(settings)) {}
  ~KeptFile();  // writes the last changes
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  // Calls `take` with the file's bytes; does nothing if there is no file. A file for which `take`
  // throws or that others could have written is logged, and renamed to PATH.damaged, so that it is
  // not overwritten. One that can't be read is only logged.
  void Read(const std::function<void(std::string_view)>& take) const;

  // Starts the thread, which calls `contents` after NoteChange and writes what it returns. May be
  // called once.
  void Start(std::function<std::string()> contents);
  // Makes the thread write the file again. Any thread may call it; it does not wait.
  void NoteChange();

 private:
  std::string ReadAll(int fd) const;
  void Run();
  void Write(const std::string& bytes) const;

  const Settings settings_;
  std::function<std::string()> contents_;
  Mutex mutex_;
  CondVar wake_;
  bool changed_ GRAPHD_GUARDED_BY(mutex_) = false, ended_ GRAPHD_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace graphd
