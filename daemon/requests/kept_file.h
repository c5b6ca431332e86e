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

// A file of the state directory that keeps data for the next process of the daemon, and that only
// the daemon's user can write. A thread of its own replaces the whole file after a change, so that
// no other thread waits for the disk. Changes that come within a pause are written together. A
// failure of the disk is logged once, and writing is tried again every few seconds. Owned by the
// main thread.
class KeptFile {
 public:
  struct Settings {
    std::string path;
    size_t max_bytes = 0;             // a larger file is not read
    std::chrono::milliseconds pause;  // between two writes
    bool survives_power_loss = false;
    std::string thread;  // the thread's name
    // The beginnings of the lines that are logged if the file can't be used, and if it can't be
    // written.
    const char* read_failure = "";
    const char* save_failure = "";
  };

  explicit KeptFile(Settings settings) : settings_(std::move(settings)) {}
  ~KeptFile();  // writes the last changes
  KeptFile(const KeptFile&) = delete;
  KeptFile& operator=(const KeptFile&) = delete;

  // Calls `take` with the file's bytes; does nothing if there is no file. If `take` throws, or if
  // another user could have written the file, logs the reason and renames the file to PATH.damaged,
  // so that it is not overwritten. If the file can't be read, only logs the reason.
  void Read(const std::function<void(std::string_view)>& take) const;

  // Starts the thread. After NoteChange was called, the thread calls `contents` and writes the
  // returned bytes. May be called once.
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
