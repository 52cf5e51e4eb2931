// How a batch becomes rows: its tokens one below the other, a bounded number at a time.
//
// The layers see only rows. A pass says which cache each row belongs to, at which position it
// stands, and which rows want logits. A batch of more than kRowsPerPass tokens takes several
// passes, so that scratch memory does not grow with the prompt; since rows do not depend on each
// other but through the caches, the cuts change no bit.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kernels/kernels.h"
#include "model/batch.h"
#include "model/config.h"

namespace maglio {

inline constexpr size_t kRowsPerPass = 512;

// A span's rows in a pass, [first_row, first_row + n_rows). Those that want logits, if any, are its
// last ones: one, or all.
struct PassSpan {
  KvCache* cache = nullptr;
  size_t position = 0;  // of the first row
  size_t first_row = 0;
  size_t n_rows = 0;
  size_t n_wanted = 0;
};

struct Pass {
  std::vector<TokenId> ids;       // of every row
  std::vector<size_t> positions;  // of every row
  std::vector<PassSpan> spans;
  std::vector<size_t> wanted;  // rows whose logits are wanted, ascending
};

// The batch in passes of at most max_rows rows, spans in order. Requires: max_rows > 0.
std::vector<Pass> cut_into_passes(Batch batch, size_t max_rows = kRowsPerPass);

// The door of the forward pass: everything about a batch that a caller can get wrong.
// Throws: Error as Transformer::forward lists it.
void check_batch(Batch batch, const Config& config);

}  // namespace maglio
