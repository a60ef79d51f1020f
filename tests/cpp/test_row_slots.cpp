#include <map>
#include <set>
#include <vector>

#include "core/base/random.h"
#include "core/gather/row_slots.h"
#include "tests/cpp/check.h"

namespace gz {
namespace {

using Slot = RowSlots::Slot;

// A map from row to slot and number of users: what RowSlots is, less its speed.
struct Model {
  struct Held {
    Slot slot;
    int users;
  };
  std::map<std::uint64_t, Held> held;
};

// `rows` is a little more than `count`, so that the table is nearly always full.
void compare_with_model(std::size_t count, std::uint64_t rows, std::uint64_t step) {
  RowSlots slots(count, 8);
  Model model;
  Rng rng(1, {count, rows});
  bool same = true;
  for (int turn = 0; turn < 20000; ++turn) {
    // Long phases of taking and of giving back: the table fills up and empties.
    const bool takes = rng.below(10) < (turn / 500 % 2 == 0 ? 7u : 3u);
    const std::uint64_t row = rng.below(rows) * step;
    const auto found = model.held.find(row);
    if (takes) {
      const auto [slot, is_first] = slots.take(row);
      if (found != model.held.end()) {
        same = same && slot == found->second.slot && !is_first;
        ++found->second.users;
      } else if (model.held.size() == count) {
        same = same && slot == RowSlots::kNone && !is_first;
      } else {
        same = same && slot < count && is_first;
        for (const auto& [other, held] : model.held) same = same && held.slot != slot;
        model.held[row] = {slot, 1};
        slots.due(slot) = row + 1;
      }
    } else if (found != model.held.end()) {
      same = same && slots.due(found->second.slot) == row + 1;
      slots.give_back(found->second.slot);
      if (--found->second.users == 0) model.held.erase(found);
    }
    same = same && slots.num_free() == count - model.held.size();
  }
  EXPECT(same);
}

TEST(slots_are_taken_and_given_back_as_in_a_model) {
  for (const std::size_t count : {0u, 1u, 2u, 3u, 7u, 8u, 64u, 100u})
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{1} << 33})
      compare_with_model(count, count + count / 4 + 1, step);
}

TEST(a_slot_given_back_is_taken_next_and_is_new_to_its_row) {
  RowSlots slots(4, 16);
  const Slot first = slots.take(7).slot;
  slots.due(first) = 99;
  slots.take(8);
  slots.give_back(first);
  const auto [again, is_first] = slots.take(9);
  EXPECT(again == first && is_first);
  EXPECT(slots.due(again) == 0);
}

TEST(slots_lie_side_by_side) {
  const RowSlots slots(3, 24);
  EXPECT(slots.row(1) == slots.row(0) + 24 && slots.row(2) == slots.row(0) + 48);
  EXPECT(slots.bytes() >= 3 * 24);
}

}  // namespace
}  // namespace gz
