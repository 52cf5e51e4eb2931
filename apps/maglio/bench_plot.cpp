#include "maglio/bench_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "maglio/bench_svg.h"

namespace maglio::app {
namespace {

using Runs = std::vector<const SweepRun*>;

bool is_length(const SpeedPoint& p) {
  return p.n_gen == 0 && p.n_depth == 0 && p.n_prompt > 0;
}
bool is_generation(const SpeedPoint& p) {
  return p.n_prompt == 0;
}
bool is_prompt_at_depth(const SpeedPoint& p) {
  return p.n_gen == 0 && p.n_prompt == kSweepPrompt;
}

template <class Pick, class XOf>
std::vector<PlotSeries> series_of(const Runs& runs, Pick pick, XOf x_of) {
  std::vector<PlotSeries> all;
  for (size_t i = 0; i < runs.size(); ++i) {
    PlotSeries series{.style = i, .points = {}};
    for (const SpeedPoint& p : runs[i]->points) {
      if (!pick(p)) continue;
      series.points.push_back({x_of(p), p.ts, fmt::format("{}: {:.1f} t/s", x_of(p), p.ts)});
    }
    std::ranges::sort(series.points, {}, &PlotPoint::x);
    if (!series.points.empty()) all.push_back(std::move(series));
  }
  return all;
}

double most_of(const std::vector<PlotSeries>& series) {
  double most = 0;
  for (const PlotSeries& s : series) {
    for (const PlotPoint& p : s.points) most = std::max(most, p.y);
  }
  return most;
}
double least_of(const std::vector<PlotSeries>& series) {
  double least = most_of(series);
  for (const PlotSeries& s : series) {
    for (const PlotPoint& p : s.points) least = std::min(least, p.y);
  }
  return least;
}

PlotAxis length_axis(double longest) {
  PlotAxis axis{.label = "prompt tokens (logarithmic)",
                .scale = AxisScale::logarithmic,
                .low = 0.93,
                .high = std::max(longest, 2.0) * 1.075,
                .ticks = {}};
  for (const size_t n :
       {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024}) {
    const auto value = static_cast<double>(n);
    if (value <= axis.high) axis.ticks.push_back({value, fmt::format("{}", n)});
  }
  return axis;
}

PlotAxis even_axis(const char* label, double most) {
  PlotAxis axis{.label = label, .ticks = even_ticks(most)};
  axis.high = axis.ticks.back().value;
  return axis;
}

PlotPanel length_panel(const Runs& runs) {
  PlotPanel panel{.title = "Reading a prompt: tokens a second over its length",
                  .x = {},
                  .y = {},
                  .series = series_of(runs, is_length, [](const SpeedPoint& p) {
                    return static_cast<double>(p.n_prompt);
                  })};
  if (panel.series.empty()) return panel;
  panel.x = length_axis(panel.series[0].points.back().x);
  panel.y = {.label = "tokens / s (logarithmic)",
             .scale = AxisScale::logarithmic,
             .low = 0.85 * least_of(panel.series),
             .high = 1.18 * most_of(panel.series),
             .ticks = {}};
  panel.y.ticks = decade_ticks(panel.y.low, panel.y.high);
  return panel;
}

PlotPanel ratio_panel(const Runs& runs) {
  PlotPanel panel{.title = "Ratio of the two (higher is better for the first; dashed: equal)",
                  .x = {},
                  .y = {},
                  .series = {},
                  .level = 1.0};
  PlotSeries series;
  for (const SpeedRatio& r : compare_runs(*runs[0], *runs[1])) {
    if (!is_length(r.ours)) continue;
    series.points.push_back({static_cast<double>(r.ours.n_prompt), r.ratio(),
                             fmt::format("{}: {:.2f}", r.ours.n_prompt, r.ratio())});
  }
  if (series.points.empty()) return panel;
  std::ranges::sort(series.points, {}, &PlotPoint::x);
  panel.series.push_back(std::move(series));
  panel.x = length_axis(panel.series[0].points.back().x);
  panel.y = even_axis("ratio", std::max(1.0, most_of(panel.series)));
  return panel;
}

std::string depth_text(size_t depth) {
  return depth >= 1024 && depth % 1024 == 0 ? fmt::format("{}k", depth / 1024)
                                            : fmt::format("{}", depth);
}

// Depths stand at even distances, in order; under each the ratio, where there are two runs.
PlotPanel depth_panel(const Runs& runs, const std::string& title, bool (*pick)(const SpeedPoint&)) {
  std::vector<size_t> depths;
  for (const SpeedPoint& p : runs[0]->points) {
    if (pick(p)) depths.push_back(p.n_depth);
  }
  std::ranges::sort(depths);
  const auto x_of = [&](const SpeedPoint& p) {
    return static_cast<double>(std::ranges::find(depths, p.n_depth) - depths.begin());
  };
  const auto known = [&](const SpeedPoint& p) {
    return pick(p) && std::ranges::find(depths, p.n_depth) != depths.end();
  };
  PlotPanel panel{.title = title, .x = {}, .y = {}, .series = series_of(runs, known, x_of)};
  if (panel.series.empty()) return panel;
  panel.x = {.label = runs.size() > 1 ? "tokens in the cache; below: ratio" : "tokens in the cache",
             .low = -0.3,
             .high = static_cast<double>(depths.size()) - 0.7,
             .ticks = {}};
  for (size_t i = 0; i < depths.size(); ++i) {
    panel.x.ticks.push_back({static_cast<double>(i), depth_text(depths[i])});
  }
  if (runs.size() > 1) {
    for (const SpeedRatio& r : compare_runs(*runs[0], *runs[1])) {
      if (!pick(r.ours)) continue;
      panel.x.ticks[static_cast<size_t>(x_of(r.ours))].below = fmt::format("{:.2f}", r.ratio());
    }
  }
  panel.y = even_axis("tokens / s", most_of(panel.series));
  return panel;
}

}  // namespace

std::string sweep_svg(const SweepRun& ours, const std::optional<SweepRun>& theirs) {
  Runs runs = {&ours};
  if (theirs) runs.push_back(&*theirs);
  Plot plot{.title = ours.model,
            .subtitle = fmt::format("{}, {} threads", ours.cpu, ours.n_threads),
            .legend = {},
            .rows = {}};
  for (const SweepRun* run : runs) plot.legend.push_back(run->engine);

  const auto add_row = [&](double height, std::vector<PlotPanel> panels) {
    std::erase_if(panels, [](const PlotPanel& panel) { return panel.series.empty(); });
    if (!panels.empty()) plot.rows.push_back({height, std::move(panels)});
  };
  add_row(280, {length_panel(runs)});
  if (theirs) add_row(150, {ratio_panel(runs)});
  add_row(200,
          {depth_panel(runs, "Generating, behind a filled cache", is_generation),
           depth_panel(runs, fmt::format("Reading {} tokens, behind a filled cache", kSweepPrompt),
                       is_prompt_at_depth)});
  return to_svg(plot);
}

}  // namespace maglio::app
