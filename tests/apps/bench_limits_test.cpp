#include "maglio/bench_limits.h"

#include <gtest/gtest.h>

#include "kernels/registry.h"

namespace maglio::app {
namespace {

constexpr size_t kMemory = size_t{8} << 20;

// What the figures are is the machine's business; that they are there, and for which threads, is
// checked.
TEST(BenchLimits, AreMeasuredForDoublingThreadsAndAllClasses) {
  LimitMeter meter(active_kernels(), 3, kMemory);
  const MachineLimits limits = meter.current();
  ASSERT_EQ(limits.read.size(), 3u);
  EXPECT_EQ(limits.read[0].n_threads, 1u);
  EXPECT_EQ(limits.read[1].n_threads, 2u);
  EXPECT_EQ(limits.read[2].n_threads, 3u);
  EXPECT_EQ(limits.read_gb_s(), limits.read[2].gb_s);
  for (const auto& rate : limits.read) EXPECT_GT(rate.gb_s, 0);
  for (const double rate : limits.one_thread) EXPECT_GT(rate, 0);
  for (const double rate : limits.all_threads) EXPECT_GT(rate, 0);
}

TEST(BenchLimits, OneThreadIsAllThreads) {
  LimitMeter meter(active_kernels(), 1, kMemory);
  ASSERT_EQ(meter.latest().read.size(), 1u);
  EXPECT_EQ(meter.latest().one_thread, meter.latest().all_threads);
}

TEST(BenchLimits, OfTwoMeasurementsTheHigherRateIsTheLimit) {
  MachineLimits limits{.n_threads = 2,
                       .read = {{1, 10}, {2, 20}},
                       .one_thread = {1, 1, 1, 1},
                       .all_threads = {10, 20, 30, 40}};
  limits.raise_to({.n_threads = 2,
                   .read = {{1, 11}, {2, 18}},
                   .one_thread = {2, 2, 2, 2},
                   .all_threads = {11, 19, 31, 39}});
  EXPECT_EQ(limits.read_gb_s(), 20);
  EXPECT_EQ(limits.all_threads, (MachineLimits::MacRates{11, 20, 31, 40}));
  EXPECT_EQ(limits.gmac_s(ActivationClass::a8), 31);
}

}  // namespace
}  // namespace maglio::app
