#include "ops/activation.h"

#include <cassert>

#include "ops/rows.h"

namespace maglio {

Tensor<float, Seq, Ff> swiglu(Context& cx,
                              Tensor<const float, Seq, Ff> gate,
                              Tensor<const float, Seq, Ff> up) {
  const size_t n_rows = gate.extent<Seq>();
  const size_t d_ff = gate.extent<Ff>();
  assert(up.extent<Seq>() == n_rows && up.extent<Ff>() == d_ff);
  const Tensor<float, Seq, Ff> out = cx.arena.tensor<Seq, Ff>({n_rows, d_ff});
  for_each_row(cx, n_rows, d_ff, [&](size_t row) {
    cx.kernels.rows.swiglu(gate.select<Seq>(row).span().data(), up.select<Seq>(row).span().data(),
                           d_ff, out.select<Seq>(row).span().data());
  });
  return out;
}

}  // namespace maglio
