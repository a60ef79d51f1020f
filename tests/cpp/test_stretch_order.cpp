#include <cstdint>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/convert/stretch_order.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

// One list per bucket, whose neighbour is its key.
PackedStretch stretch_of(std::uint64_t key) {
  PackedStretch stretch;
  stretch.runs = {{key, 1}};
  stretch.count = 1;
  stretch.first = stretch.last = {key, key, 0};
  stretch.indices.resize(sizeof(std::int32_t));
  return stretch;
}

constexpr std::uint64_t kBuckets = 3;

IndexShape shape() {
  IndexShape found;
  found.num_nodes = found.num_entries = kBuckets;
  found.edge_ids = false;
  return found;
}

TEST(stretches_that_come_early_are_written_when_they_are_due) {
  GlWriter writer("gz_tests.order.gl");  // removed, for it is never finished
  IndexOutput output(writer, shape(), ".");
  StretchOrder order(output, 1 << 20);
  for (std::uint64_t bucket = kBuckets; bucket-- > 0;) {
    EXPECT(output.num_entries() == 0);
    PackedStretch stretch = stretch_of(bucket);
    order.add(bucket, stretch);
  }
  EXPECT(output.num_entries() == kBuckets);
  output.finish();  // which throws if lists are missing
}

// With no room to park anything a thread waits for its turn, and then for nothing else.
TEST(without_room_stretches_wait_for_their_turn) {
  GlWriter writer("gz_tests.order.gl");
  IndexOutput output(writer, shape(), ".");
  StretchOrder order(output, 0);
  std::vector<std::thread> threads;
  for (std::uint64_t bucket = kBuckets; bucket-- > 1;) {
    threads.emplace_back([&order, bucket] {
      PackedStretch stretch = stretch_of(bucket);
      order.add(bucket, stretch);
    });
  }
  EXPECT(output.num_entries() == 0);
  order.begin(0);
  PackedStretch first = stretch_of(0);
  output.add(first);
  order.end();
  for (std::thread& thread : threads) thread.join();
  EXPECT(output.num_entries() == kBuckets);
}

TEST(who_waits_for_a_stretch_that_failed_throws_its_error) {
  GlWriter writer("gz_tests.order.gl");
  IndexOutput output(writer, shape(), ".");
  StretchOrder order(output, 0);
  std::string told;
  std::thread waiting([&] {
    PackedStretch stretch = stretch_of(1);
    told = test::message_of([&] { order.add(1, stretch); });
  });
  order.fail(std::make_exception_ptr(std::runtime_error("the disk is full")));
  waiting.join();
  EXPECT(told == "the disk is full");
}

}  // namespace
}  // namespace gz
