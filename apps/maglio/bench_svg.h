// A small writer of line plots as SVG: panels with labelled axes, lines with marked points.
//
// Colours follow the reader's light or dark scheme; lines differ in their marks too, so that they
// can be told apart without colour. Each point says its values when pointed at.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace maglio::app {

enum class AxisScale { linear, logarithmic };

struct PlotTick {
  double value = 0;
  std::string text;
  std::string below = {};  // a second line under it; of the x axis only
};

struct PlotAxis {
  std::string label;
  AxisScale scale = AxisScale::linear;
  double low = 0, high = 1;  // low < high; positive where logarithmic
  std::vector<PlotTick> ticks = {};

  // Where a value lies between low (0) and high (1).
  double position(double value) const;
};

struct PlotPoint {
  double x = 0, y = 0;
  std::string note;
};

struct PlotSeries {
  size_t style = 0;  // 0 or 1: colour and mark
  std::vector<PlotPoint> points;
};

struct PlotPanel {
  std::string title;
  PlotAxis x, y;
  std::vector<PlotSeries> series;
  std::optional<double> level = {};  // a horizontal line to compare with
};

// Panels of one height beside each other.
struct PlotRow {
  double height = 300;
  std::vector<PlotPanel> panels;
};

struct Plot {
  std::string title, subtitle;
  std::vector<std::string> legend;  // name of style 0, 1
  std::vector<PlotRow> rows;
};

std::string to_svg(const Plot& plot);

// Ticks at 1, 2, 5 times powers of ten that lie in [low, high].
std::vector<PlotTick> decade_ticks(double low, double high);
// Ticks from 0 to the first round number beyond `most`, which is the last one's value.
std::vector<PlotTick> even_ticks(double most);

}  // namespace maglio::app
