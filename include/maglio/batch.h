// Several conversations with one model answer together: each step reads the weights once for all.
//
//   const maglio::BatchTurn turns[] = {{&alice, "Hello.", to_alice}, {&bob, "Why?", to_bob}};
//   for (const maglio::BatchOutcome& outcome : maglio::send_batch(turns)) { ... }
//
// Each answer is the one that its conversation would give alone, bit for bit, and what goes wrong
// in one of them stays there.
#pragma once

#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "maglio/conversation.h"

namespace maglio {

// Borrows all for the call.
struct BatchTurn {
  Conversation* conversation = nullptr;
  std::string_view user = {};
  TextSink sink = {};
  Constraint* constraint = nullptr;
};

// What came of a turn: the reply, or what send would have thrown; its conversation is then as send
// would have left it.
struct BatchOutcome {
  std::optional<Reply> reply = {};
  std::exception_ptr error = nullptr;
};

// Outcome i is of turn i. Pieces of all answers come to their sinks as they are made, mixed.
// Throws: Error bad_request "EmptyBatch", "MismatchedKvCaches" for a conversation that stands there
// twice or conversations of different cache formats, "MixedModels", "SharedConstraint". Nothing was
// done then.
std::vector<BatchOutcome> send_batch(std::span<const BatchTurn> turns);

}  // namespace maglio
