// SPDX-License-Identifier: Apache-2.0
#include "bench/support/limits.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <thread>
#include <vector>

#include "base/file.h"
#include "base/rng.h"

namespace graphd::bench {
namespace {

// Zeroed memory on 2 MiB pages where the kernel provides them.
class HugeBlock {
 public:
  explicit HugeBlock(size_t bytes) : bytes_(bytes) {
    data_ = static_cast<char*>(
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (data_ == MAP_FAILED) ThrowErrno("no memory for", "a benchmark");
    ::madvise(data_, bytes, MADV_HUGEPAGE);
    std::memset(data_, 1, bytes);
  }
  ~HugeBlock() { ::munmap(data_, bytes_); }
  HugeBlock(const HugeBlock&) = delete;
  HugeBlock& operator=(const HugeBlock&) = delete;
  char* data() { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

// Returns the shortest time of five runs, in seconds.
double Best(const std::function<void()>& run, clockid_t clock = CLOCK_MONOTONIC) {
  const auto now = [clock] {
    timespec time{};
    ::clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
  };
  double best = 1e9;
  for (int i = 0; i < 5; i++) {
    const double start = now();
    run();
    best = std::min(best, now() - start);
  }
  return best;
}

// Limits of one thread's memory accesses are measured in its own processor time, so that other
// processes don't make the limit look low.
constexpr clockid_t kOwnTime = CLOCK_THREAD_CPUTIME_ID;

std::vector<uint32_t> RandomIndices(size_t count, size_t below) {
  CounterRng random(7);
  std::vector<uint32_t> indices(count);
  for (auto& i : indices) i = static_cast<uint32_t>(random.Below(below));
  return indices;
}

void WriteAll(int fd, const char* data, size_t size) {
  WriteExactly(fd, std::as_bytes(std::span(data, size)), "socket");
}

void ReadAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t got = ::read(fd, data, size);
    if (got <= 0) ThrowErrno("can't read", "socket");
    data += got;
    size -= static_cast<size_t>(got);
  }
}

struct SocketPair {
  UniqueFd a, b;
};

SocketPair Connect(bool tcp) {
  int ends[2] = {-1, -1};
  if (!tcp) {
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) ThrowErrno("no socket pair", "");
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
  }
  UniqueFd listener(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener.get(), generic, length) != 0 || ::listen(listener.get(), 1) != 0 ||
      ::getsockname(listener.get(), generic, &length) != 0) {
    ThrowErrno("can't listen on", "loopback");
  }
  SocketPair pair{UniqueFd(::socket(AF_INET, SOCK_STREAM, 0)), UniqueFd()};
  if (::connect(pair.a.get(), generic, length) != 0) ThrowErrno("can't connect to", "loopback");
  pair.b = UniqueFd(::accept(listener.get(), nullptr, nullptr));
  const int one = 1;
  for (int fd : {pair.a.get(), pair.b.get()}) {
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  }
  return pair;
}

// Computes a limit once per key.
template <class Key>
double Once(std::map<Key, double>& known, Key key, const std::function<double()>& measure) {
  auto found = known.find(key);
  if (found == known.end()) found = known.emplace(key, measure()).first;
  return found->second;
}

}  // namespace

double RandomReadNs(size_t bytes) {
  static std::map<size_t, double> known;
  return Once<size_t>(known, bytes, [bytes] {
    HugeBlock table(bytes);
    const auto indices = RandomIndices(4 << 20, bytes / 4);
    const auto* values = reinterpret_cast<const uint32_t*>(table.data());
    uint32_t sum = 0;
    double seconds = Best(
        [&] {
          for (uint32_t i : indices) sum += values[i];
        },
        kOwnTime);
    constexpr size_t kAhead = 32;
    const double prefetched = Best(
        [&] {
          for (size_t i = 0; i + kAhead < indices.size(); i++) {
            __builtin_prefetch(values + indices[i + kAhead]);
            sum += values[indices[i]];
          }
        },
        kOwnTime);
    asm volatile("" : : "r"(sum));
    seconds = std::min(seconds, prefetched);
    return seconds * 1e9 / static_cast<double>(indices.size());
  });
}

double RandomRowNs(size_t bytes, size_t row_bytes) {
  static std::map<std::pair<size_t, size_t>, double> known;
  return Once<std::pair<size_t, size_t>>(known, {bytes, row_bytes}, [=] {
    HugeBlock table(bytes);
    const auto rows = RandomIndices(100000, bytes / row_bytes);
    HugeBlock out(rows.size() * row_bytes);
    const double seconds = Best(
        [&] {
          for (size_t i = 0; i < rows.size(); i++) {
            if (i + 8 < rows.size()) {
              const char* ahead = table.data() + size_t{rows[i + 8]} * row_bytes;
              for (size_t at = 0; at < row_bytes; at += 64) __builtin_prefetch(ahead + at);
            }
            std::memcpy(out.data() + i * row_bytes, table.data() + size_t{rows[i]} * row_bytes,
                        row_bytes);
          }
        },
        kOwnTime);
    return seconds * 1e9 / static_cast<double>(rows.size());
  });
}

double SocketPipelineBytesPerSecond(bool tcp) {
  static std::map<bool, double> known;
  return Once<bool>(known, tcp, [tcp] {
    constexpr size_t kPiece = 1 << 20, kBytes = 40 << 20;
    SocketPair pair = Connect(tcp);
    HugeBlock source(kBytes), staged(kPiece), target(kBytes), landed(kPiece);
    const double seconds = Best([&] {
      std::thread sender([&] {
        for (size_t at = 0; at < kBytes; at += kPiece) {
          std::memcpy(staged.data(), source.data() + at, kPiece);
          WriteAll(pair.a.get(), staged.data(), kPiece);
        }
      });
      for (size_t at = 0; at < kBytes; at += kPiece) {
        ReadAll(pair.b.get(), landed.data(), kPiece);
        std::memcpy(target.data() + at, landed.data(), kPiece);
      }
      sender.join();
    });
    return kBytes / seconds;
  });
}

double RandomDiskBytesPerSecond(const std::string& directory, size_t file_bytes, size_t block) {
  constexpr size_t kThreads = 16, kReads = 256, kPiece = size_t{1} << 20;
  const std::string path = directory + "/disk-limit";
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_DIRECT | O_CLOEXEC, 0600));
  if (!file) ThrowErrno("can't make", path);
  ::unlink(path.c_str());
  HugeBlock pieces(std::max(kPiece, kThreads * block));
  for (size_t at = 0; at < file_bytes; at += kPiece) {
    if (::pwrite(file.get(), pieces.data(), kPiece, static_cast<off_t>(at)) < 0) {
      ThrowErrno("can't write", path);
    }
  }
  const auto blocks = RandomIndices(kThreads * kReads, file_bytes / block);
  const double seconds = Best([&] {
    std::vector<std::thread> threads;
    for (size_t t = 0; t < kThreads; t++) {
      threads.emplace_back([&, t] {
        for (size_t i = 0; i < kReads; i++) {
          const auto at = static_cast<off_t>(size_t{blocks[t * kReads + i]} * block);
          if (::pread(file.get(), pieces.data() + t * block, block, at) < 0) std::abort();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  });
  return static_cast<double>(kThreads * kReads * block) / seconds;
}

double SocketRoundTripUs(bool tcp) {
  static std::map<bool, double> known;
  return Once<bool>(known, tcp, [tcp] {
    constexpr int kRounds = 5000;
    SocketPair pair = Connect(tcp);
    std::thread echo([&] {
      char word[8];
      for (int i = 0; i < 5 * kRounds; i++) {
        ReadAll(pair.b.get(), word, 8);
        WriteAll(pair.b.get(), word, 8);
      }
    });
    char word[8] = {};
    const double seconds = Best([&] {
      for (int i = 0; i < kRounds; i++) {
        WriteAll(pair.a.get(), word, 8);
        ReadAll(pair.a.get(), word, 8);
      }
    });
    echo.join();
    return seconds * 1e6 / kRounds;
  });
}

}  // namespace graphd::bench
