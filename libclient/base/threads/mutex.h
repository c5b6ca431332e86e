// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include "base/threads/thread_annotations.h"
#include "base/threads/watched_thread.h"

// The mutexes, locks and condition variables of the standard library with annotations, so that
// clang checks that members marked GRAPHD_GUARDED_BY are only used while their mutex is held. They
// cost no more than what they wrap.

namespace graphd {

class GRAPHD_CAPABILITY("mutex") Mutex {
 public:
  // Marks a mutex that is held while a thread waits for the disk or for other threads. A thread
  // that waits for such a mutex is not reported as one that hangs (WatchedThread).
  enum HeldLong { kHeldLong };

  Mutex() = default;
  explicit Mutex(HeldLong) : held_long_(true) {}
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  // These functions have the names of the standard library, so that its locks accept a Mutex.
  // Prefer MutexLock.
  void lock() GRAPHD_ACQUIRE() {
    if (held_long_) {
      const WatchedThread::Waiting waiting;
      mutex_.lock();
    } else {
      mutex_.lock();
    }
  }
  void unlock() GRAPHD_RELEASE() { mutex_.unlock(); }
  bool try_lock() GRAPHD_TRY_ACQUIRE(true) { return mutex_.try_lock(); }

  // Tells clang's analysis, without a check, that the thread holds the mutex. Lambdas need this if
  // they are called by a function that does not know the mutex, while the mutex is held.
  void AssumeHeld() const noexcept GRAPHD_ASSERT_CAPABILITY() {}

 private:
  friend class CondVar;
  std::mutex mutex_;
  const bool held_long_ = false;
};

// A lock that holds a mutex while it exists, except between Unlock and Lock.
class GRAPHD_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) GRAPHD_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() GRAPHD_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void Unlock() GRAPHD_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void Lock() GRAPHD_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// The reverse of a lock: its constructor releases a mutex that the thread holds, and its destructor
// locks the mutex again.
class GRAPHD_SCOPED_CAPABILITY MutexUnlock {
 public:
  explicit MutexUnlock(Mutex& mutex) GRAPHD_RELEASE(mutex) : mutex_(mutex) { mutex_.unlock(); }
  ~MutexUnlock() GRAPHD_RELEASE() { mutex_.lock(); }
  MutexUnlock(const MutexUnlock&) = delete;
  MutexUnlock& operator=(const MutexUnlock&) = delete;

 private:
  Mutex& mutex_;
};

// A condition variable. The mutex is unlocked during a wait. A wait may end without a notification,
// so the condition must be tested in a loop. A thread that waits is not reported as one that hangs
// (WatchedThread).
//
//   const MutexLock lock(mutex_);
//   while (!ready_) changed_.Wait(mutex_);
class CondVar {
 public:
  void Wait(Mutex& mutex) GRAPHD_REQUIRES(mutex) {
    const WatchedThread::Waiting waiting;
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    changed_.wait(lock);
    lock.release();
  }
  // WaitUntil and WaitFor return false if they end because the time is over.
  template <class TimeClock, class Duration>
  bool WaitUntil(Mutex& mutex, const std::chrono::time_point<TimeClock, Duration>& end)
      GRAPHD_REQUIRES(mutex) {
    const WatchedThread::Waiting waiting;
    std::unique_lock lock(mutex.mutex_, std::adopt_lock);
    const std::cv_status status = changed_.wait_until(lock, end);
    lock.release();
    return status == std::cv_status::no_timeout;
  }
  template <class Rep, class Period>
  bool WaitFor(Mutex& mutex, const std::chrono::duration<Rep, Period>& time)
      GRAPHD_REQUIRES(mutex) {
    return WaitUntil(mutex, std::chrono::steady_clock::now() + time);
  }
  void NotifyOne() noexcept { changed_.notify_one(); }
  void NotifyAll() noexcept { changed_.notify_all(); }

 private:
  std::condition_variable changed_;
};

// A mutex with one writer or any number of readers.
class GRAPHD_CAPABILITY("mutex") SharedMutex {
 public:
  SharedMutex() = default;
  SharedMutex(const SharedMutex&) = delete;
  SharedMutex& operator=(const SharedMutex&) = delete;

  void lock() GRAPHD_ACQUIRE() { mutex_.lock(); }
  void unlock() GRAPHD_RELEASE() { mutex_.unlock(); }
  void lock_shared() GRAPHD_ACQUIRE_SHARED() { mutex_.lock_shared(); }
  void unlock_shared() GRAPHD_RELEASE_SHARED() { mutex_.unlock_shared(); }

  // Tells clang's analysis, without a check, that the thread holds the mutex as a reader, for
  // lambdas as with Mutex::AssumeHeld.
  void AssumeHeldShared() const noexcept GRAPHD_ASSERT_SHARED_CAPABILITY() {}

 private:
  std::shared_mutex mutex_;
};

// WriterLock and ReaderLock hold a SharedMutex while they live.
class GRAPHD_SCOPED_CAPABILITY WriterLock {
 public:
  explicit WriterLock(SharedMutex& mutex) GRAPHD_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~WriterLock() GRAPHD_RELEASE() { mutex_.unlock(); }
  WriterLock(const WriterLock&) = delete;
  WriterLock& operator=(const WriterLock&) = delete;

 private:
  SharedMutex& mutex_;
};

class GRAPHD_SCOPED_CAPABILITY ReaderLock {
 public:
  explicit ReaderLock(SharedMutex& mutex) GRAPHD_ACQUIRE_SHARED(mutex) : mutex_(mutex) {
    mutex_.lock_shared();
  }
  ~ReaderLock() GRAPHD_RELEASE() { mutex_.unlock_shared(); }
  ReaderLock(const ReaderLock&) = delete;
  ReaderLock& operator=(const ReaderLock&) = delete;

 private:
  SharedMutex& mutex_;
};

}  // namespace graphd
