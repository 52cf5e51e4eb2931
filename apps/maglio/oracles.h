// The chapter's oracles as flags of run: each prints what can be compared, or compares it.
#pragma once

#include <span>

#include "maglio/run_flags.h"
#include "maglio/session.h"

namespace maglio::app {

// --logits-out, --compare-logits, --verify-cache and --bench, in this order, on one prompt.
// Throws: CLI::RuntimeError(1) where a comparison fails.
void run_oracles(const Session& session, std::span<const TokenId> prompt);

}  // namespace maglio::app
