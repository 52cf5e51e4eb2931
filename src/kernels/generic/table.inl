// One instruction set's table, put together from the generic algorithms.
//
// A unit (isa_*.cpp) includes one vocabulary (simd/*.h) and then this file. Everything lies in an
// anonymous namespace; the table is the unit's only symbol (docs/kernels.md, "sealed units").
#pragma once

#include "kernels/generic/attention.inl"
#include "kernels/generic/formats.inl"
#include "kernels/generic/limits.inl"
#include "kernels/generic/rows.inl"
#include "kernels/kernels.h"

namespace maglio {
namespace {

constexpr Kernels make_table(const char* name) {
  Kernels table = {
      .name = name,
      .activations = {},
      .formats = {},
      .rows = row_kernels(),
      .attention_f32 = attention_f32_kernels(),
      .attention_f16 = attention_f16_kernels(),
      .attention_q8_0 = attention_q8_0_kernels(),
      .folding = fold_kernels(),
      .limits = limit_kernels(),
  };
  fill_formats(table);
  fill_activations(table);
  return table;
}

}  // namespace
}  // namespace maglio
