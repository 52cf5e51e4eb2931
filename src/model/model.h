// What a Model handle holds. The public side is maglio/model.h.
#pragma once

#include "maglio/model.h"
#include "maglio/tokenizer.h"
#include "model/transformer.h"

namespace maglio {

struct Model::Parts {
  Transformer transformer;
  Tokenizer tokenizer;
  ModelInfo info;
};

}  // namespace maglio
