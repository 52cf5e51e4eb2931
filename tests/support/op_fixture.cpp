#include "support/op_fixture.h"

#include <algorithm>

namespace maglio::test {

WeightMatrix OpFixture::pack(DType dtype,
                             size_t n_out,
                             size_t n_in,
                             std::span<const std::byte> rows) {
  WeightMatrix m{.dtype = dtype, .n_out = n_out, .n_in = n_in};
  const FormatKernels& format = format_kernels(cx.kernels, dtype);
  const size_t panel_bytes = format.panel_bytes(n_in);
  const size_t stored_bytes = row_bytes(dtype, n_in);
  std::byte* panels = panels_.emplace_back(m.n_panels() * panel_bytes + 8192).data();
  for (size_t panel = 0; panel < m.n_panels(); ++panel) {
    const size_t row = panel * kPanelRows;
    format.pack_panel(rows.data() + row * stored_bytes, stored_bytes,
                      std::min(kPanelRows, n_out - row), n_in, panels + panel * panel_bytes);
  }
  m.panels = panels;
  return m;
}

}  // namespace maglio::test
