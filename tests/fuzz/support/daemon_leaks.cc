// SPDX-License-Identifier: Apache-2.0

// The leaks that the fuzz targets of a daemon ignore. LeakSanitizer does not see all that running
// threads refer to: leaks are looked for on the main thread, which serves the connections.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:__cxa_thread_atexit_impl\nleak:std::thread::_State_impl\n";
}
