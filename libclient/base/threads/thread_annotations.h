// SPDX-License-Identifier: Apache-2.0
#pragma once

// Annotations that say which mutex guards what. clang checks them (-Wthread-safety, see
// scripts/lint-clang); for other compilers they are empty. Their meaning is described in
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html. The mutexes are in base/threads/mutex.h.

#ifdef __clang__
#define GRAPHD_THREAD_ANNOTATION(attribute) __attribute__((attribute))
#else
#define GRAPHD_THREAD_ANNOTATION(attribute)
#endif

// Data members are marked with these: the mutex must be held to use the member, or what the member
// points to.
#define GRAPHD_GUARDED_BY(mutex) GRAPHD_THREAD_ANNOTATION(guarded_by(mutex))
#define GRAPHD_PT_GUARDED_BY(mutex) GRAPHD_THREAD_ANNOTATION(pt_guarded_by(mutex))

// Mutexes are marked with these: a thread that locks several of them does it in this order.
#define GRAPHD_ACQUIRED_BEFORE(...) GRAPHD_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

// Functions are marked with these: the caller must hold the mutexes, must hold them at least as a
// reader, or must not hold them.
#define GRAPHD_REQUIRES(...) GRAPHD_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define GRAPHD_REQUIRES_SHARED(...) \
  GRAPHD_THREAD_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define GRAPHD_EXCLUDES(...) GRAPHD_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

// Functions are marked with these if they lock or unlock the mutexes. Without an argument, the
// mutex is the object itself, or the one that the object, a scoped lock, manages.
#define GRAPHD_ACQUIRE(...) GRAPHD_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define GRAPHD_ACQUIRE_SHARED(...) GRAPHD_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define GRAPHD_RELEASE(...) GRAPHD_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define GRAPHD_RELEASE_SHARED(...) GRAPHD_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define GRAPHD_TRY_ACQUIRE(...) GRAPHD_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define GRAPHD_ASSERT_CAPABILITY(...) GRAPHD_THREAD_ANNOTATION(assert_capability(__VA_ARGS__))
#define GRAPHD_ASSERT_SHARED_CAPABILITY(...) \
  GRAPHD_THREAD_ANNOTATION(assert_shared_capability(__VA_ARGS__))

// A function whose body can't be checked is marked with this. A comment must say why it is right.
#define GRAPHD_NO_THREAD_SAFETY_ANALYSIS GRAPHD_THREAD_ANNOTATION(no_thread_safety_analysis)

// Classes are marked with these: the first is for mutexes, the second for objects that hold one
// while they live.
#define GRAPHD_CAPABILITY(name) GRAPHD_THREAD_ANNOTATION(capability(name))
#define GRAPHD_SCOPED_CAPABILITY GRAPHD_THREAD_ANNOTATION(scoped_lockable)
