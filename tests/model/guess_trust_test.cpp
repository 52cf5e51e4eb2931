#include "model/guess_trust.h"

#include <gtest/gtest.h>

namespace maglio {
namespace {

constexpr size_t kGuesses = 8;

void judge(GuessTrust& trust, size_t place, int n_right, int n_wrong) {
  for (int i = 0; i < n_right; ++i) trust.judge(place, kGuesses, true);
  for (int i = 0; i < n_wrong; ++i) trust.judge(place, kGuesses, false);
}

TEST(GuessTrust, NothingIsReadBeforeGuessesWereSeenToBeRight) {
  GuessTrust trust;
  EXPECT_FALSE(trust.is_worth_a_read(0, kGuesses));
  judge(trust, 0, 5, 0);
  EXPECT_FALSE(trust.is_worth_a_read(0, kGuesses));
  judge(trust, 0, 5, 0);
  EXPECT_TRUE(trust.is_worth_a_read(0, kGuesses));
}

TEST(GuessTrust, EachPlaceOfTheListIsJudgedByItself) {
  GuessTrust trust;
  judge(trust, 0, 30, 0);
  judge(trust, 7, 0, 30);
  EXPECT_TRUE(trust.is_worth_a_read(0, kGuesses));
  EXPECT_FALSE(trust.is_worth_a_read(7, kGuesses));
  EXPECT_FALSE(trust.is_worth_a_read(3, kGuesses)) << "never seen";
}

TEST(GuessTrust, TrustIsLostAndWonBack) {
  GuessTrust trust;
  judge(trust, 2, 50, 0);
  judge(trust, 2, 0, 100);
  EXPECT_FALSE(trust.is_worth_a_read(2, kGuesses));
  judge(trust, 2, 100, 0);
  EXPECT_TRUE(trust.is_worth_a_read(2, kGuesses));
}

// A list of another length is judged by the same share of it, up to its last place.
TEST(GuessTrust, ListsOfAnyLengthHaveTheirPlaces) {
  GuessTrust trust;
  for (const size_t n : {1, 3, 8, 100}) {
    for (size_t place = 0; place < n; ++place) {
      for (int i = 0; i < 10; ++i) trust.judge(place, n, true);
    }
  }
  for (const size_t n : {1, 3, 8, 100}) {
    for (size_t place = 0; place < n; ++place) EXPECT_TRUE(trust.is_worth_a_read(place, n));
  }
}

}  // namespace
}  // namespace maglio
