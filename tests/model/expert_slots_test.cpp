#include "model/expert_slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace maglio {
namespace {

bool any(size_t) {
  return true;
}

void choose(ExpertSlots& slots, const std::vector<uint32_t>& experts) {
  std::vector<ExpertDemand> demands;
  for (const uint32_t expert : experts) demands.push_back({expert, 1});
  slots.note_chosen(demands);
}

TEST(ExpertSlots, EmptySlotsAreTakenBeforeAnyoneGivesWay) {
  ExpertSlots slots(8, 3, {}, ExpertEviction::frequency);
  for (const uint32_t expert : {5u, 2u, 7u}) EXPECT_TRUE(slots.place(expert, any));
  for (const uint32_t expert : {5u, 2u, 7u}) EXPECT_TRUE(slots.slot_of(expert));
}

// Two slots, after 0 was chosen three times, then 1, then 2.
ExpertSlots slots_after_three(ExpertEviction eviction) {
  ExpertSlots slots(8, 2, {}, eviction);
  for (int i = 0; i < 3; ++i) choose(slots, {0});
  slots.place(0, any);
  choose(slots, {1});
  slots.place(1, any);
  choose(slots, {2});
  slots.place(2, any);
  return slots;
}

TEST(ExpertSlots, ByFrequencyTheSeldomestGivesWayHoweverLateItCame) {
  const ExpertSlots slots = slots_after_three(ExpertEviction::frequency);
  EXPECT_TRUE(slots.slot_of(0));
  EXPECT_FALSE(slots.slot_of(1));
}

TEST(ExpertSlots, ByTimeTheOneThatWasNotChosenForLongestDoes) {
  const ExpertSlots slots = slots_after_three(ExpertEviction::least_recent);
  EXPECT_FALSE(slots.slot_of(0));
  EXPECT_TRUE(slots.slot_of(1));
}

TEST(ExpertSlots, FrequencyFadesSoThatHabitsMayChange) {
  ExpertSlots slots(8, 1, {}, ExpertEviction::frequency);
  for (int i = 0; i < 500; ++i) choose(slots, {0});
  for (int i = 0; i < 3000; ++i) choose(slots, {1});
  slots.place(0, any);
  slots.place(1, any);
  EXPECT_TRUE(slots.slot_of(1));
  ExpertSlots two(8, 2, {}, ExpertEviction::frequency);
  for (int i = 0; i < 500; ++i) choose(two, {0});
  for (int i = 0; i < 3000; ++i) choose(two, {1});
  two.place(0, any);
  two.place(1, any);
  two.place(2, any);
  EXPECT_TRUE(two.slot_of(1)) << "500 choices of long ago count less than 3000 of late";
}

// A prompt of many tokens is so many choices, not one.
TEST(ExpertSlots, APassCountsByItsTokens) {
  ExpertSlots slots(8, 2, {}, ExpertEviction::frequency);
  const std::vector<ExpertDemand> prompt = {{0, 1}, {1, 90}};
  slots.note_chosen(prompt);
  slots.place(0, any);
  slots.place(1, any);
  slots.place(2, any);
  EXPECT_TRUE(slots.slot_of(1));
}

TEST(ExpertSlots, PinnedOnesNeverGiveWay) {
  const std::vector<uint32_t> pinned = {6, 3};
  ExpertSlots slots(8, 3, pinned, ExpertEviction::frequency);
  for (uint32_t expert = 0; expert < 3; ++expert) {
    choose(slots, {expert});
    EXPECT_EQ(slots.place(expert, any), 2u);
  }
  EXPECT_EQ(slots.slot_of(6), 0u);
  EXPECT_EQ(slots.slot_of(3), 1u);
}

TEST(ExpertSlots, NobodyIsPlacedWhereNobodyMayGiveWay) {
  ExpertSlots slots(8, 2, {}, ExpertEviction::frequency);
  slots.place(0, any);
  slots.place(1, any);
  EXPECT_FALSE(slots.place(2, [](size_t) { return false; }));
  EXPECT_EQ(slots.place(2, [](size_t slot) { return slot == 1; }), 1u);
  EXPECT_TRUE(slots.slot_of(0));
}

}  // namespace
}  // namespace maglio
