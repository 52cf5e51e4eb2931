#include "chat/json_value.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/number_text.h"
#include "maglio/error.h"

namespace maglio::chat {
namespace {

namespace json = boost::json;
using jinja::Dict;
using jinja::Origin;
using jinja::Value;

constexpr size_t kMaxDepth = 128;

// What Boost.JSON's parser calls, event by event. (Its own DOM would do but for numbers: it rounds
// some, and has no int beyond 64 bits.)
class Builder {
 public:
  static constexpr size_t max_object_size = static_cast<size_t>(-1);
  static constexpr size_t max_array_size = static_cast<size_t>(-1);
  static constexpr size_t max_key_size = static_cast<size_t>(-1);
  static constexpr size_t max_string_size = static_cast<size_t>(-1);

  Value take() { return std::move(open_.front().items.front()); }

  bool on_document_begin(json::error_code&) {
    open_.emplace_back();
    return true;
  }
  bool on_document_end(json::error_code&) { return true; }

  bool on_object_begin(json::error_code&) {
    open_.emplace_back();
    return true;
  }
  bool on_object_end(size_t, json::error_code&) {
    Open closed = std::move(open_.back());
    open_.pop_back();
    Dict dict;
    for (size_t i = 0; i < closed.items.size(); ++i) {
      dict.set(std::move(closed.keys[i]), std::move(closed.items[i]));
    }
    return add(Value::dict(std::move(dict), Origin::said));
  }
  bool on_array_begin(json::error_code&) {
    open_.emplace_back();
    return true;
  }
  bool on_array_end(size_t, json::error_code&) {
    Open closed = std::move(open_.back());
    open_.pop_back();
    return add(Value::list(std::move(closed.items), Origin::said));
  }

  bool on_key_part(json::string_view part, size_t, json::error_code&) { return append(part); }
  bool on_key(json::string_view part, size_t, json::error_code&) {
    append(part);
    open_.back().keys.push_back(Value::string(std::exchange(text_, {}), Origin::said));
    return true;
  }
  bool on_string_part(json::string_view part, size_t, json::error_code&) { return append(part); }
  bool on_string(json::string_view part, size_t, json::error_code&) {
    append(part);
    return add(Value::string(std::exchange(text_, {}), Origin::said));
  }

  bool on_number_part(json::string_view part, json::error_code&) { return append(part); }
  bool on_int64(int64_t, json::string_view part, json::error_code& error) {
    return number(part, error);
  }
  bool on_uint64(uint64_t, json::string_view part, json::error_code& error) {
    return number(part, error);
  }
  bool on_double(double, json::string_view part, json::error_code& error) {
    return number(part, error);
  }

  bool on_bool(bool b, json::error_code&) { return add(Value::boolean(b)); }
  bool on_null(json::error_code&) { return add(Value()); }
  bool on_comment_part(json::string_view, json::error_code&) { return true; }
  bool on_comment(json::string_view, json::error_code&) { return true; }

 private:
  struct Open {  // an array or an object whose end has not come
    std::vector<Value> keys;
    std::vector<Value> items;
  };

  bool append(json::string_view part) {
    text_.append(part.data(), part.size());
    return true;
  }
  bool add(Value value) {
    open_.back().items.push_back(std::move(value));
    return true;
  }
  bool number(json::string_view part, json::error_code& error) {
    append(part);
    const std::string text = std::exchange(text_, {});
    const bool whole = text.find_first_of(".eE") == std::string::npos;
    const auto n = whole ? jinja::parse_integer(text) : std::nullopt;
    if (n) return add(Value::integer(*n, Origin::said));
    if (whole) {  // as a real it would be another number
      error = json::error::not_exact;
      return false;
    }
    return add(Value::real(jinja::parse_real(text).value_or(0), Origin::said));
  }

  std::vector<Open> open_;
  std::string text_;  // of the key, string or number that is being read
};

// Counted from 1, as editors do.
std::string place(std::string_view text, size_t at) {
  const std::string_view before = text.substr(0, at);
  return fmt::format("line {}, byte {}", 1 + std::ranges::count(before, '\n'),
                     at - (before.rfind('\n') + 1) + 1);
}

}  // namespace

Value parse_json(std::string_view text) {
  json::parse_options options;
  options.max_depth = kMaxDepth;
  json::basic_parser<Builder> parser(options);
  json::error_code error;
  const size_t n = parser.write_some(false, text.data(), text.size(), error);
  if (!error && n < text.size() && text.find_first_not_of(" \t\r\n", n) != std::string_view::npos) {
    error = json::error::extra_data;
  }
  if (error == json::error::not_exact) {
    throw Error(ErrorKind::bad_request, "BadJson",
                fmt::format("at {}: expected whole numbers of up to 128 bits, found a longer one: "
                            "write it as a string",
                            place(text, n)));
  }
  if (error) {
    throw Error(
        ErrorKind::bad_request, "BadJson",
        fmt::format("expected JSON in UTF-8, but at {}: {}", place(text, n), error.message()));
  }
  return parser.handler().take();
}

}  // namespace maglio::chat
