// SPDX-License-Identifier: Apache-2.0
// A library to be preloaded into graphd: large reads wait until the file that HELD_READS names
// allows them, which has the number of bytes that may be read in all. So a test decides how far the
// loading of a graph has come.
#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

namespace {

constexpr size_t kLarge = size_t{1} << 16;
constexpr useconds_t kPauseMicroseconds = 5000;

std::atomic<long> g_read{0};

long Allowed() {
  const char* const path = std::getenv("HELD_READS");
  const int fd = path != nullptr ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
  if (fd < 0) return 0;
  char text[32] = "";
  if (::read(fd, text, sizeof text - 1) < 0) text[0] = '\0';
  ::close(fd);
  return std::atol(text);
}

ssize_t Read(const char* name, int fd, void* buffer, size_t size, off_t offset) {
  using Function = ssize_t (*)(int, void*, size_t, off_t);
  const auto real = reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
  if (size < kLarge) return real(fd, buffer, size, offset);
  while (g_read >= Allowed()) ::usleep(kPauseMicroseconds);
  const ssize_t got = real(fd, buffer, size, offset);
  if (got > 0) g_read += got;
  return got;
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* buffer, size_t size, off_t offset) {
  return Read("pread", fd, buffer, size, offset);
}

ssize_t pread64(int fd, void* buffer, size_t size, off_t offset) {
  return Read("pread64", fd, buffer, size, offset);
}
}
