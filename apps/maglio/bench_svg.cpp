#include "maglio/bench_svg.h"

#include <fmt/format.h>

#include <cmath>
#include <iterator>

namespace maglio::app {
namespace {

constexpr double kWidth = 960, kTop = 74, kLeft = 62, kRight = 18, kGap = 34, kAbove = 26,
                 kBelow = 58;

constexpr std::string_view kStyle = R"(<style>
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.paper { fill: #ffffff } .title { font-size: 16px; font-weight: 600 } .quiet { fill: #59636e }
.grid { stroke: #d1d9e0; stroke-width: 1 } .frame { stroke: #59636e; fill: none }
.level { stroke: #1f2328; stroke-width: 1.5; stroke-dasharray: 5 4 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round }
.s0 { stroke: #0969da } .m0 { fill: #0969da } .s1 { stroke: #bc4c00 } .m1 { fill: #bc4c00 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .paper { fill: #0d1117 } .quiet { fill: #9198a1 }
.grid { stroke: #3d444d } .frame { stroke: #9198a1 } .level { stroke: #f0f6fc }
.s0 { stroke: #58a6ff } .m0 { fill: #58a6ff } .s1 { stroke: #ffa657 } .m1 { fill: #ffa657 }
}
</style>
)";

std::string escaped_xml(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  }
  return out;
}

// The drawing area of a panel, in pixels.
struct Frame {
  double left = 0, top = 0, width = 0, height = 0;
  double right() const { return left + width; }
  double bottom() const { return top + height; }
};

class Writer {
 public:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  void text(double x, double y, std::string_view anchor, std::string_view text) {
    put("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
        escaped_xml(text));
  }
  void line(std::string_view kind, double x1, double y1, double x2, double y2) {
    put("<line class=\"{}\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n", kind, x1,
        y1, x2, y2);
  }
  // A disc for style 0, a square for style 1.
  void mark(size_t style, double x, double y, std::string_view note) {
    if (style == 0) {
      put("<circle class=\"m0\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.2\">", x, y);
    } else {
      put("<rect class=\"m1\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"6\" height=\"6\">", x - 3, y - 3);
    }
    put("<title>{}</title></{}>\n", escaped_xml(note), style == 0 ? "circle" : "rect");
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

void draw_axes(Writer& svg, const PlotPanel& panel, const Frame& f) {
  for (const PlotTick& tick : panel.x.ticks) {
    const double x = f.left + panel.x.position(tick.value) * f.width;
    svg.line("grid", x, f.top, x, f.bottom());
    svg.text(x, f.bottom() + 16, "middle", tick.text);
    if (!tick.below.empty()) svg.text(x, f.bottom() + 31, "middle", tick.below);
  }
  for (const PlotTick& tick : panel.y.ticks) {
    const double y = f.bottom() - panel.y.position(tick.value) * f.height;
    svg.line("grid", f.left, y, f.right(), y);
    svg.text(f.left - 6, y + 4, "end", tick.text);
  }
  svg.put("<rect class=\"frame\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
          f.left, f.top, f.width, f.height);
  svg.put("<text class=\"quiet\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n",
          f.left + f.width / 2, f.bottom() + kBelow - 12, escaped_xml(panel.x.label));
  svg.put(
      "<text class=\"quiet\" text-anchor=\"middle\" transform=\"translate({:.1f} {:.1f}) "
      "rotate(-90)\">{}</text>\n",
      f.left - 46, f.top + f.height / 2, escaped_xml(panel.y.label));
  svg.text(f.left, f.top - 8, "start", panel.title);
}

void draw_series(Writer& svg, const PlotPanel& panel, const PlotSeries& series, const Frame& f) {
  std::string path;
  for (const PlotPoint& p : series.points) {
    path += fmt::format("{:.1f},{:.1f} ", f.left + panel.x.position(p.x) * f.width,
                        f.bottom() - panel.y.position(p.y) * f.height);
  }
  svg.put("<polyline class=\"line s{}\" points=\"{}\"/>\n", series.style, path);
  for (const PlotPoint& p : series.points) {
    svg.mark(series.style, f.left + panel.x.position(p.x) * f.width,
             f.bottom() - panel.y.position(p.y) * f.height, p.note);
  }
}

void draw_panel(Writer& svg, const PlotPanel& panel, const Frame& f) {
  draw_axes(svg, panel, f);
  if (panel.level) {
    const double y = f.bottom() - panel.y.position(*panel.level) * f.height;
    svg.line("level", f.left, y, f.right(), y);
  }
  for (const PlotSeries& series : panel.series) draw_series(svg, panel, series, f);
}

void draw_legend(Writer& svg, const std::vector<std::string>& names) {
  double x = kLeft;
  for (size_t style = 0; style < names.size(); ++style) {
    svg.line(fmt::format("line s{}", style), x, 62, x + 28, 62);
    svg.mark(style, x + 14, 62, names[style]);
    svg.text(x + 34, 66, "start", names[style]);
    x += 64 + 7.0 * static_cast<double>(names[style].size());
  }
}

}  // namespace

double PlotAxis::position(double value) const {
  if (scale == AxisScale::linear) return (value - low) / (high - low);
  return std::log(value / low) / std::log(high / low);
}

std::string to_svg(const Plot& plot) {
  double height = kTop;
  for (const PlotRow& row : plot.rows) height += kAbove + row.height + kBelow;

  Writer svg;
  svg.put(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\" height=\"{1:.0f}\">\n{2}<rect class=\"paper\" width=\"{0:.0f}\" "
      "height=\"{1:.0f}\"/>\n",
      kWidth, height, kStyle);
  svg.put("<text class=\"title\" x=\"{}\" y=\"24\">{}</text>\n", kLeft, escaped_xml(plot.title));
  svg.put("<text class=\"quiet\" x=\"{}\" y=\"43\">{}</text>\n", kLeft, escaped_xml(plot.subtitle));
  draw_legend(svg, plot.legend);
  double top = kTop;
  for (const PlotRow& row : plot.rows) {
    const auto n = static_cast<double>(row.panels.size());
    const double width = (kWidth - kRight - kLeft - (n - 1) * (kGap + kLeft)) / n;
    double left = kLeft;
    for (const PlotPanel& panel : row.panels) {
      draw_panel(svg, panel, {left, top + kAbove, width, row.height});
      left += width + kGap + kLeft;
    }
    top += kAbove + row.height + kBelow;
  }
  svg.put("</svg>\n");
  return svg.take();
}

std::vector<PlotTick> decade_ticks(double low, double high) {
  std::vector<PlotTick> ticks;
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high; decade *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double value = decade * step;
      if (value >= low && value <= high) ticks.push_back({value, fmt::format("{:g}", value)});
    }
  }
  return ticks;
}

std::vector<PlotTick> even_ticks(double most) {
  const double decade = std::pow(10, std::floor(std::log10(most)));
  double step = decade / 5;
  for (const double candidate : {decade / 2, decade, 2 * decade}) {
    if (most / step > 6) step = candidate;
  }
  std::vector<PlotTick> ticks;
  for (int i = 0; i == 0 || ticks.back().value < most; ++i) {
    ticks.push_back({i * step, fmt::format("{:g}", i * step)});
  }
  return ticks;
}

}  // namespace maglio::app
