// The whole library. Start here: conversation.h.
#pragma once

#include "maglio/batch.h"         // several of them at once
#include "maglio/constraint.h"    // what an answer may say
#include "maglio/conversation.h"  // turns in, answers out
#include "maglio/error.h"         // the only exception type
#include "maglio/generation.h"    // how tokens are chosen, when answers end
#include "maglio/model.h"         // weights and tokenizer of a GGUF file
#include "maglio/tokenizer.h"     // text to token ids and back
