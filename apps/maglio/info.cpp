// maglio info MODEL: what a model file holds, and what a conversation with it will need.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/available_memory.h"
#include "base/escaped.h"
#include "gguf/reader.h"
#include "kernels/registry.h"
#include "maglio/byte_text.h"
#include "maglio/commands.h"
#include "maglio/error.h"
#include "maglio/info_json.h"
#include "maglio/memory_report.h"
#include "model/config.h"
#include "model/memory_plan.h"
#include "tensor/dtype.h"

namespace maglio::app {
namespace {

struct InfoOptions {
  std::filesystem::path model;
  bool full = false;
  bool json = false;
};

// How much of a value is shown.
struct Limits {
  size_t text_bytes = 72;
  size_t elements = 8;
};

// Element i of a value that holds no strings.
std::string element_text(const gguf::Value& value, size_t i) {
  using gguf::ValueType;
  switch (value.element_type) {
    case ValueType::u8:
      return fmt::format("{}", value.at<uint8_t>(i));
    case ValueType::i8:
      return fmt::format("{}", value.at<int8_t>(i));
    case ValueType::u16:
      return fmt::format("{}", value.at<uint16_t>(i));
    case ValueType::i16:
      return fmt::format("{}", value.at<int16_t>(i));
    case ValueType::u32:
      return fmt::format("{}", value.at<uint32_t>(i));
    case ValueType::i32:
      return fmt::format("{}", value.at<int32_t>(i));
    case ValueType::u64:
      return fmt::format("{}", value.at<uint64_t>(i));
    case ValueType::i64:
      return fmt::format("{}", value.at<int64_t>(i));
    case ValueType::f32:
      return fmt::format("{}", value.at<float>(i));
    case ValueType::f64:
      return fmt::format("{}", value.at<double>(i));
    case ValueType::boolean:
      return value.at<uint8_t>(i) != 0 ? "true" : "false";
    case ValueType::string:
    case ValueType::array:
      return "?";
  }
  return "?";
}

std::string quoted(std::string_view text, const Limits& limits) {
  return fmt::format("'{}'", escaped(text, limits.text_bytes));
}

std::string value_text(const gguf::Value& value, const Limits& limits) {
  if (value.type == gguf::ValueType::string) return quoted(as_text(value.bytes), limits);
  if (!value.is_array()) return element_text(value, 0);
  const size_t n_shown = std::min<size_t>(value.count, limits.elements);
  std::vector<std::string> shown;
  if (value.element_type == gguf::ValueType::string) {
    for (const std::string_view text : gguf::string_elements(value, n_shown)) {
      shown.push_back(quoted(text, limits));
    }
  } else {
    for (size_t i = 0; i < n_shown; ++i) shown.push_back(element_text(value, i));
  }
  return fmt::format("[{}{}]", fmt::join(shown, ", "), n_shown < value.count ? ", …" : "");
}

void print_file(const gguf::File& file, const InfoOptions& options) {
  const std::string parts = file.n_parts() == 1 ? "" : fmt::format(", {} parts", file.n_parts());
  fmt::print("file       {}\n", escaped(options.model.string(), SIZE_MAX));
  fmt::print("format     GGUF version {}, alignment {}{}\n", file.version(), file.alignment(),
             parts);
  fmt::print("size       {} ({} bytes)\n", sized(static_cast<double>(file.n_bytes())),
             grouped(file.n_bytes()));
}

void print_metadata(const gguf::Metadata& metadata, const Limits& limits) {
  fmt::print("\nmetadata   {} keys\n", metadata.entries().size());
  for (const auto& [key, value] : metadata.entries()) {
    fmt::print("  {} = {} ({})\n", escaped(key), value_text(value, limits), describe(value));
  }
}

struct Total {
  uint64_t n_tensors = 0;
  uint64_t n_values = 0;
  uint64_t n_bytes = 0;

  void add(const gguf::TensorInfo& tensor) {
    ++n_tensors;
    n_values += tensor.n_values();
    n_bytes += tensor.data.size();
  }
};

void print_tensors(const gguf::File& file) {
  size_t name_width = 0;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    name_width = std::max(name_width, escaped(tensor.name).size());
  }
  fmt::print("\ntensors    {} (name, type, shape innermost first, bytes)\n", file.tensors().size());
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    fmt::print("  {:<{}}  {:<7}  {:<22}  {:>14}\n", escaped(tensor.name), name_width,
               to_string(tensor.dtype), fmt::format("[{}]", fmt::join(tensor.dims, ", ")),
               grouped(tensor.data.size()));
  }
}

void print_totals(const gguf::File& file) {
  std::map<std::string_view, Total> totals;
  Total all;
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    totals[to_string(tensor.dtype)].add(tensor);
    all.add(tensor);
  }
  fmt::print("\ntotals     tensors, parameters, bytes, bits a parameter\n");
  const auto print_total = [](std::string_view name, const Total& total) {
    const double bits = total.n_values == 0 ? 0.0
                                            : 8.0 * static_cast<double>(total.n_bytes) /
                                                  static_cast<double>(total.n_values);
    fmt::print("  {:<7}  {:>5}  {:>18}  {:>18}  {:>6.2f}\n", name, total.n_tensors,
               grouped(total.n_values), grouped(total.n_bytes), bits);
  };
  for (const auto& [name, total] : totals) print_total(name, total);
  print_total("all", all);
}

void print_configuration(const Config& c, const ModelSizes& sizes) {
  fmt::print("\nmodel      {} layers, {} wide, {} inside, {} tokens\n", c.n_layers, c.d_model,
             c.d_ff, c.vocab_size);
  if (c.n_experts != 0) {
    fmt::print("           {} experts a layer, {} of them for each token; {} inside each\n",
               c.n_experts, c.n_experts_used, c.d_ff);
  }
  fmt::print("           {} heads on {} of {} channels, trained for {} positions\n", c.n_heads,
             c.n_kv_heads, c.head_dim, c.n_ctx == 0 ? "?" : grouped(c.n_ctx));
  fmt::print("\nKV cache   bytes a position, at 4,096 positions");
  if (c.n_ctx != 0) fmt::print(", at {}", grouped(c.n_ctx));
  fmt::print("\n");
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    const std::string_view name = cache_name(type);
    const uint64_t bytes = sizes.position(type);
    if (bytes == 0) {
      fmt::print("  {:<7}  not possible: heads of {} channels\n", name, c.head_dim);
      continue;
    }
    fmt::print("  {:<7}  {:>10}  {:>10}", name, grouped(bytes),
               sized(4096.0 * static_cast<double>(bytes)));
    if (c.n_ctx != 0) {
      fmt::print("  {:>10}", sized(static_cast<double>(c.n_ctx) * static_cast<double>(bytes)));
    }
    fmt::print("\n");
  }
}

void print_info(const InfoOptions& options) {
  const gguf::File file = gguf::File::open(options.model);
  if (options.json) {
    fmt::print("{}\n", info_json(file, available_memory()));
    return;
  }
  print_file(file, options);
  print_metadata(file.metadata(), options.full ? Limits{SIZE_MAX, SIZE_MAX} : Limits{});
  if (file.tensors().empty()) {
    fmt::print("\ntensors    none: the file is a vocabulary\n");
    return;
  }
  print_tensors(file);
  print_totals(file);
  // A file that maglio cannot run can still be described.
  try {
    const Config config = Config::from_gguf(file);
    const ModelSizes sizes = sizes_of(file, config, active_kernels());
    print_configuration(config, sizes);
    fmt::print("{}", memory_text(sizes, available_memory()));
  } catch (const Error& error) {
    fmt::print("\nmodel      cannot be run: {}\n", error.message());
  }
}

}  // namespace

void add_info_command(CLI::App& app) {
  auto options = std::make_shared<InfoOptions>();
  CLI::App* command = app.add_subcommand("info", "Describe a model file");
  command->add_option("model", options->model, "A GGUF file, or any part of a split one")
      ->required()
      ->type_name("MODEL");
  command->add_flag("--full", options->full, "Show texts and lists whole, however long");
  command->add_flag("--json", options->json,
                    "Print one JSON object instead: sizes, and what fits in memory");
  command->callback([options] { print_info(*options); });
}

}  // namespace maglio::app
