// SPDX-License-Identifier: Apache-2.0
#include "client/cache/sieve_queue.h"

#include <gtest/gtest.h>

#include <list>

#include "base/rng.h"

namespace graphd::testing {
namespace {

// SIEVE as its authors write it down (NSDI 2024, algorithm 1): a list, the newest object first, and
// a hand that points to an object or to none.
class ReferenceSieve {
 public:
  void Insert(unsigned way) { objects_.push_front({way, false}); }
  void Visit(unsigned way) {
    for (Object& object : objects_) object.visited |= object.way == way;
  }
  unsigned Evict() {
    auto object = hand_ == objects_.end() ? std::prev(objects_.end()) : hand_;
    while (object->visited) {
      object->visited = false;
      object = object == objects_.begin() ? std::prev(objects_.end()) : std::prev(object);
    }
    const unsigned way = object->way;
    hand_ = object == objects_.begin() ? objects_.end() : std::prev(object);
    objects_.erase(object);
    return way;
  }
  void Erase(unsigned way) {
    for (auto object = objects_.begin(); object != objects_.end(); ++object) {
      if (object->way != way) continue;
      if (hand_ == object) {
        hand_ = object == objects_.begin() ? objects_.end() : std::prev(object);
      }
      objects_.erase(object);
      return;
    }
  }

 private:
  struct Object {
    unsigned way;
    bool visited;
  };
  std::list<Object> objects_;
  std::list<Object>::iterator hand_ = objects_.end();
};

TEST(SieveQueue, EvictsInTheOrderOfTheReferenceModel) {
  for (unsigned capacity : {1U, 2U, 5U, 16U}) {
    CounterRng random(capacity);
    SieveQueue queue;
    ReferenceSieve reference;
    uint32_t visited = 0;
    for (unsigned way = 0; way < capacity; way++) {
      queue.Insert(way);
      reference.Insert(way);
    }
    for (int step = 0; step < 20000; step++) {
      // In some phases nearly all rows are read between two evictions, in others nearly none.
      const uint64_t reads = random.Below(step / 1000 % 2 == 0 ? 3 : 40);
      for (uint64_t i = 0; i < reads; i++) {
        const auto way = static_cast<unsigned>(random.Below(capacity));
        visited |= 1U << way;
        reference.Visit(way);
      }
      const unsigned evicted = queue.Evict(visited);
      ASSERT_EQ(evicted, reference.Evict()) << "capacity " << capacity << ", step " << step;
      visited &= ~(1U << evicted);
      queue.Insert(evicted);
      reference.Insert(evicted);
    }
  }
}

TEST(SieveQueue, EvictsInTheOrderOfTheReferenceModelWhileTheSizeChanges) {
  CounterRng random(7);
  SieveQueue queue;
  ReferenceSieve reference;
  uint32_t visited = 0, present = 0;
  for (int step = 0; step < 50000; step++) {
    const auto way = static_cast<unsigned>(random.Below(16));
    if ((present >> way & 1) == 0) {
      queue.Insert(way);
      reference.Insert(way);
      visited &= ~(1U << way);
      present |= 1U << way;
      continue;
    }
    const uint64_t choice = random.Below(8);
    if (choice < 4) {
      visited |= 1U << way;
      reference.Visit(way);
    } else if (choice == 4) {
      queue.Erase(way);
      reference.Erase(way);
      present &= ~(1U << way);
      queue.Erase(way);  // without effect, because it is not in the queue
    } else {
      const unsigned evicted = queue.Evict(visited);
      ASSERT_EQ(evicted, reference.Evict()) << "step " << step;
      present &= ~(1U << evicted);
    }
  }
}

TEST(SieveQueue, DamagedValuesLeadToNoWayOutsideTheSet) {
  CounterRng random(3);
  for (int i = 0; i < 100000; i++) {
    SieveQueue queue{random.Next(), static_cast<uint8_t>(1 + random.Below(16)),
                     static_cast<uint8_t>(random.Below(256))};
    auto visited = static_cast<uint32_t>(random.Next());
    EXPECT_LT(queue.Evict(visited), 16U);
    EXPECT_LE(queue.size, 15U);
  }
}

}  // namespace
}  // namespace graphd::testing
