// The picture of a sweep: speed over prompt length, speed over depth, and, beside another engine's
// run, the ratio of the two.
#pragma once

#include <optional>
#include <string>

#include "maglio/bench_sweep.h"

namespace maglio::app {

// Draws what the runs have; panels without a point are left out.
std::string sweep_svg(const SweepRun& ours, const std::optional<SweepRun>& theirs);

}  // namespace maglio::app
