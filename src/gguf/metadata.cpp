#include "gguf/metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>
#include <type_traits>
#include <utility>

#include "base/escaped.h"
#include "maglio/error.h"

namespace maglio::gguf {
namespace {

// Calls f with element i, in its own C++ type, if the elements are integers or floats.
// Returns false for booleans, strings and arrays.
template <class F>
bool visit_number(const Value& value, size_t i, F&& f) {
  switch (value.element_type) {
    case ValueType::u8:
      return f(value.at<uint8_t>(i)), true;
    case ValueType::i8:
      return f(value.at<int8_t>(i)), true;
    case ValueType::u16:
      return f(value.at<uint16_t>(i)), true;
    case ValueType::i16:
      return f(value.at<int16_t>(i)), true;
    case ValueType::u32:
      return f(value.at<uint32_t>(i)), true;
    case ValueType::i32:
      return f(value.at<int32_t>(i)), true;
    case ValueType::u64:
      return f(value.at<uint64_t>(i)), true;
    case ValueType::i64:
      return f(value.at<int64_t>(i)), true;
    case ValueType::f32:
      return f(value.at<float>(i)), true;
    case ValueType::f64:
      return f(value.at<double>(i)), true;
    case ValueType::boolean:
    case ValueType::string:
    case ValueType::array:
      return false;
  }
  return false;
}

template <class Integer>
constexpr std::string_view kIntegerName = "an integer";
template <>
constexpr std::string_view kIntegerName<uint64_t> = "an integer ≥ 0";
template <>
constexpr std::string_view kIntegerName<int32_t> = "integers of 32 bits";

}  // namespace

std::string describe(const Value& value) {
  if (!value.is_array()) return std::string(to_string(value.type));
  return fmt::format("array of {} {}", value.count, to_string(value.element_type));
}

StringArray string_elements(const Value& value, uint64_t limit) {
  assert(value.is_array() && value.element_type == ValueType::string);
  StringArray texts(static_cast<size_t>(std::min(value.count, limit)));
  ByteReader reader(value.bytes, "array of strings");
  for (std::string_view& text : texts) {
    text = as_text(reader.take(reader.read<uint64_t>()));
  }
  return texts;
}

Metadata::Metadata(std::vector<Entry> entries, std::string source)
    : entries_(std::move(entries)), by_key_(entries_.size()), source_(std::move(source)) {
  std::iota(by_key_.begin(), by_key_.end(), uint32_t{0});
  const auto key = [this](uint32_t i) { return entries_[i].key; };
  std::ranges::sort(by_key_, {}, key);
  const auto twin = std::ranges::adjacent_find(by_key_, {}, key);
  if (twin != by_key_.end()) {
    throw Error(ErrorKind::bad_file, "DuplicateMetadataKey",
                fmt::format("{}: metadata key '{}' appears twice", source_, escaped(key(*twin))));
  }
}

const Value* Metadata::find(std::string_view key) const {
  const auto found =
      std::ranges::lower_bound(by_key_, key, {}, [this](uint32_t i) { return entries_[i].key; });
  if (found == by_key_.end() || entries_[*found].key != key) return nullptr;
  return &entries_[*found].value;
}

void Metadata::fail_type(std::string_view key,
                         std::string_view expected,
                         const Value& found) const {
  throw Error(ErrorKind::bad_file, "WrongMetadataType",
              fmt::format("{}: metadata key '{}': expected {}, found {}", source_, escaped(key),
                          expected, describe(found)));
}

template <class Integer>
Integer Metadata::integer_at(std::string_view key, const Value& value, size_t i) const {
  std::optional<Integer> result;
  const bool is_number = visit_number(value, i, [&](auto x) {
    if constexpr (std::is_integral_v<decltype(x)>) {
      if (std::in_range<Integer>(x)) {
        result = static_cast<Integer>(x);
        return;
      }
      throw Error(ErrorKind::bad_file, "WrongMetadataType",
                  fmt::format("{}: metadata key '{}': expected {}, found {}", source_, escaped(key),
                              kIntegerName<Integer>, x));
    }
  });
  if (!is_number || !result) fail_type(key, kIntegerName<Integer>, value);
  return *result;
}

std::optional<uint64_t> Metadata::uint(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array()) fail_type(key, kIntegerName<uint64_t>, *value);
  return integer_at<uint64_t>(key, *value, 0);
}

std::optional<int64_t> Metadata::integer(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array()) fail_type(key, kIntegerName<int64_t>, *value);
  return integer_at<int64_t>(key, *value, 0);
}

std::optional<double> Metadata::number(std::string_view key) const {
  constexpr std::string_view kExpected = "a number";
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array()) fail_type(key, kExpected, *value);
  double result = 0;
  if (!visit_number(*value, 0, [&](auto x) { result = static_cast<double>(x); })) {
    fail_type(key, kExpected, *value);
  }
  return result;
}

std::optional<bool> Metadata::boolean(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::boolean) fail_type(key, "a bool", *value);
  return value->at<uint8_t>() != 0;
}

std::optional<std::string_view> Metadata::string(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->type != ValueType::string) fail_type(key, "a string", *value);
  return as_text(value->bytes);
}

// An empty array has no elements of a wrong type: it is taken as any array.
std::optional<StringArray> Metadata::strings(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array() && value->count == 0) return StringArray{};
  if (!value->is_array() || value->element_type != ValueType::string) {
    fail_type(key, "an array of strings", *value);
  }
  return string_elements(*value);
}

std::optional<std::vector<float>> Metadata::floats(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || (value->element_type != ValueType::f32 && value->count != 0)) {
    fail_type(key, "an array of f32", *value);
  }
  std::vector<float> result(static_cast<size_t>(value->count));
  for (size_t i = 0; i < result.size(); ++i) result[i] = value->at<float>(i);
  return result;
}

std::optional<std::vector<int32_t>> Metadata::ints(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) fail_type(key, "an array of integers", *value);
  std::vector<int32_t> result(static_cast<size_t>(value->count));
  for (size_t i = 0; i < result.size(); ++i) result[i] = integer_at<int32_t>(key, *value, i);
  return result;
}

std::optional<std::vector<uint64_t>> Metadata::uints(std::string_view key) const {
  const Value* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::vector<uint64_t> result(static_cast<size_t>(value->count));
  for (size_t i = 0; i < result.size(); ++i) result[i] = integer_at<uint64_t>(key, *value, i);
  return result;
}

}  // namespace maglio::gguf
