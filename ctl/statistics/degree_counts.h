// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <map>
#include <vector>

namespace graphd::ctl {

// The description of the degrees of some nodes.
struct DegreeSummary {
  uint64_t nodes = 0;
  uint64_t zero = 0;  // nodes of degree 0
  uint64_t min = 0, max = 0;
  double median = 0, mean = 0;
  // The nodes of degree 0, 1, 2..3, 4..7 and so on, up to the largest degree.
  std::vector<uint64_t> log2_histogram;
};

// Counts how many nodes have each degree. Its memory depends on the number of different degrees.
// Not thread-safe.
class DegreeCounts {
 public:
  void Add(uint64_t degree) {
    if (degree < small_.size()) {
      small_[degree]++;
    } else {
      AddLarge(degree, 1);
    }
  }
  void Add(const DegreeCounts& other);
  DegreeSummary Summary() const;

 private:
  void AddLarge(uint64_t degree, uint64_t nodes) { large_[degree] += nodes; }
  std::vector<uint64_t> small_ = std::vector<uint64_t>(4096);  // by degree
  std::map<uint64_t, uint64_t> large_;
};

}  // namespace graphd::ctl
