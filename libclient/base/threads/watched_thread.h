// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace graphd {

// An object that makes the progress of its thread visible to others, so that a thread that hangs is
// noticed. A thread that waits for a condition variable (CondVar) counts as idle, because another
// thread has to wake it. At any other time, a thread counts as working, and should call
// CountProgress at least every few seconds. An event loop always counts as working.
//
// The thread itself constructs and destroys the object, and has at most one. Static methods may be
// called by any thread, watched or not. One mutex guards the list of all objects.
class WatchedThread {
 public:
  // Watches the calling thread and gives it a name, of which the kernel gets the first 15
  // characters (`top -H`). The thread hangs if it is working and counts no progress for the time
  // that SetLongest has set.
  explicit WatchedThread(std::string name);
  // Watches a calling thread that runs an event loop. It hangs if it counts no progress for this
  // time, even if it waits for something.
  WatchedThread(std::string name, std::chrono::seconds longest_turn);
  ~WatchedThread();
  WatchedThread(const WatchedThread&) = delete;
  WatchedThread& operator=(const WatchedThread&) = delete;

  // Counts progress of the calling thread. If that thread is not watched, its progress counts for
  // all threads that have a WithHelpers at the time.
  static void CountProgress() noexcept {
    if (current_ != nullptr) {
      Add(current_->progress_, 2);
    } else {
      helpers_progress_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // While an object of this class exists, the calling thread counts as idle. An object that is made
  // while the thread has another one has no effect.
  class Waiting {
   public:
    Waiting() noexcept : thread_(current_) {
      if (thread_ != nullptr && (thread_->is_loop() || IsOdd(thread_->progress_))) {
        thread_ = nullptr;
      }
      if (thread_ != nullptr) Add(thread_->progress_, 1);
    }
    ~Waiting() {
      if (thread_ != nullptr) Add(thread_->progress_, 1);
    }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    WatchedThread* thread_;
  };

  // While an object of this class exists, the calling thread waits for threads that are not
  // watched, such as those of RocksDB, and their progress counts as its own.
  class WithHelpers {
   public:
    WithHelpers() noexcept : thread_(current_) {
      if (thread_ != nullptr) Add(thread_->with_helpers_, 1);
    }
    ~WithHelpers() {
      if (thread_ != nullptr) Add(thread_->with_helpers_, -1);
    }
    WithHelpers(const WithHelpers&) = delete;
    WithHelpers& operator=(const WithHelpers&) = delete;

   private:
    WatchedThread* const thread_;
  };

  // A snapshot of the state of a watched thread.
  struct State {
    uint64_t id = 0;  // a different one for each object
    std::string name;
    bool works = false;
    uint64_t progress = 0;  // changes whenever progress is counted
    std::chrono::seconds longest{};
  };
  // Returns the states of all watched threads of this process.
  static std::vector<State> All();

  // Sets the time after which a working thread that counts no progress hangs, except for event
  // loops.
  static void SetLongest(std::chrono::seconds longest) noexcept { default_longest_ = longest; }

 private:
  // Adds to a number that only one thread changes.
  template <class T>
  static void Add(std::atomic<T>& number, std::type_identity_t<T> more) noexcept {
    number.store(number.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
  }
  bool is_loop() const noexcept { return longest_turn_ != std::chrono::seconds(0); }
  static bool IsOdd(const std::atomic<uint64_t>& number) noexcept {
    return number.load(std::memory_order_relaxed) % 2 != 0;
  }

  static inline constinit thread_local WatchedThread* current_ = nullptr;
  static inline constinit std::atomic<uint64_t> helpers_progress_{0};
  static inline constinit std::atomic<std::chrono::seconds> default_longest_{
      std::chrono::seconds(120)};

  const std::string name_;
  const std::chrono::seconds longest_turn_;  // 0: it is not an event loop
  uint64_t id_ = 0;
  std::atomic<uint64_t> progress_{0};  // odd while the thread waits
  std::atomic<int> with_helpers_{0};   // number of WithHelpers objects
};

// Calls f(begin, end) for pieces of the range from 0 to `count`, in order, and counts progress
// after each piece. It suits loops over all nodes or edges of a graph.
template <class F>
void ForPieces(size_t count, F&& f) {
  constexpr size_t kPiece = size_t{1} << 18;
  for (size_t begin = 0; begin < count; begin += kPiece) {
    f(begin, std::min(begin + kPiece, count));
    WatchedThread::CountProgress();
  }
}

// Calls f(first, last) for ranges of the rows of a CSC or CSR, in order, and counts progress after
// each range. `indptr` has the position at which each row begins, and the end of the last row. A
// range has at most about a million edges, or a single row.
template <class Indptr, class F>
void ForRows(const Indptr& indptr, F&& f) {
  constexpr size_t kRows = size_t{1} << 18, kEdges = size_t{1} << 20;
  const size_t rows = indptr.size() - 1;
  for (size_t first = 0, last = 0; first < rows; first = last) {
    const auto end = indptr[first] + kEdges;
    for (last = first + 1; last < rows && last - first < kRows && indptr[last + 1] <= end;) last++;
    f(first, last);
    WatchedThread::CountProgress();
  }
}

}  // namespace graphd
