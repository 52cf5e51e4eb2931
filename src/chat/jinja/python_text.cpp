#include "chat/jinja/python_text.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "base/utf8.h"

namespace maglio::jinja {
namespace {

size_t begin_of_last(std::string_view text) {
  size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (text[begin] & 0xC0) == 0x80) --begin;
  return begin + next_utf8(text, begin).size == text.size() ? begin : text.size() - 1;
}

// Where each character begins, and the end of the text.
std::vector<size_t> borders(std::string_view text) {
  std::vector<size_t> at;
  at.reserve(text.size() + 1);
  for (size_t i = 0; i < text.size(); i += next_utf8(text, i).size) at.push_back(i);
  at.push_back(text.size());
  return at;
}

void append_cased(Text& out, char32_t c, bool upper, Origin origin) {
  constexpr char32_t kSharpS = 0xDF;
  if (upper && c == kSharpS) {
    out.append("SS", origin);
    return;
  }
  const auto code = static_cast<utf8proc_int32_t>(c);
  std::string bytes;
  append_utf8(bytes,
              static_cast<char32_t>(upper ? utf8proc_toupper(code) : utf8proc_tolower(code)));
  out.append(bytes, origin);
}

bool is_letter(char32_t c) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_LU || category == UTF8PROC_CATEGORY_LL ||
         category == UTF8PROC_CATEGORY_LT;
}

std::vector<Text> split_at_space(Meter& meter, const Text& text, std::optional<size_t> most) {
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  size_t at = 0;
  const auto skip = [&](bool spaces) {
    while (at < bytes.size()) {
      const Utf8Step c = next_utf8(bytes, at);
      if (is_space(c.code_point) != spaces) break;
      at += c.size;
    }
  };
  for (skip(true); at < bytes.size(); skip(true)) {
    const size_t begin = at;
    meter.values(1);
    if (most && parts.size() == *most) {
      parts.push_back(text.part(begin));
      return parts;
    }
    skip(false);
    parts.push_back(text.part(begin, at - begin));
  }
  return parts;
}

std::vector<Text> rsplit_at_space(Meter& meter, const Text& text, size_t most) {
  std::vector<Text> parts;
  Text rest = strip(text, Sides::right);
  while (!rest.empty() && parts.size() < most) {
    meter.text(rest.size());  // it is copied
    meter.values(1);
    size_t begin = rest.size();
    while (begin > 0) {
      const size_t last = begin_of_last(std::string_view(rest.bytes()).substr(0, begin));
      if (is_space(next_utf8(rest.bytes(), last).code_point)) break;
      begin = last;
    }
    parts.push_back(rest.part(begin));
    rest = strip(rest.part(0, begin), Sides::right);
  }
  if (!rest.empty()) parts.push_back(std::move(rest));
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

Text strip(const Text& text, Sides sides, const Text* chars) {
  const std::string& bytes = text.bytes();
  std::unordered_set<std::string_view> going;  // looked up for every character
  for (size_t i = 0; chars && i < chars->size();) {
    const size_t n = next_utf8(chars->bytes(), i).size;
    going.insert(std::string_view(chars->bytes()).substr(i, n));
    i += n;
  }
  const auto goes = [&](size_t at, size_t size) {
    if (!chars) return is_space(next_utf8(bytes, at).code_point);
    return going.contains(std::string_view(bytes).substr(at, size));
  };
  size_t begin = 0, end = bytes.size();
  if (sides != Sides::right) {
    while (begin < end) {
      const size_t size = next_utf8(bytes, begin).size;
      if (!goes(begin, size)) break;
      begin += size;
    }
  }
  if (sides != Sides::left) {
    while (end > begin) {
      const size_t last = begin_of_last(std::string_view(bytes).substr(0, end));
      if (last < begin || !goes(last, end - last)) break;
      end = last;
    }
  }
  return text.part(begin, end - begin);
}

size_t find_first(std::string_view text, std::string_view part, size_t from) {
  if (from > text.size()) return text.npos;
  if (part.empty()) return from;
  // In windows that double: a place that is near costs what lies before it, whoever counts the
  // bytes given to memmem (AddressSanitizer checks them all, 10 minutes for 16 MB of replaced 'a').
  for (size_t window = 256 + 2 * part.size();; window *= 2) {
    const size_t size = std::min(window, text.size() - from);
    if (const void* at = ::memmem(text.data() + from, size, part.data(), part.size())) {
      return static_cast<size_t>(static_cast<const char*>(at) - text.data());
    }
    if (size == text.size() - from) return text.npos;
    from += size - part.size() + 1;
  }
}

size_t find_last(Meter& meter, std::string_view text, std::string_view part, size_t from) {
  constexpr size_t kBytesAStep = 16;  // of either
  if (part.size() <= text.size()) {
    const size_t places = std::min(from, text.size() - part.size()) + 1;
    meter.step(places / kBytesAStep * (part.size() / kBytesAStep));
  }
  return text.rfind(part, from);
}

size_t count_characters(std::string_view text) {
  size_t n = 0;
  for (size_t i = 0; i < text.size(); i += next_utf8(text, i).size) ++n;
  return n;
}

std::vector<Text> characters(const Text& text) {
  std::vector<Text> out;
  for (size_t i = 0; i < text.size();) {
    const size_t n = next_utf8(text.bytes(), i).size;
    out.push_back(text.part(i, n));
    i += n;
  }
  return out;
}

std::vector<size_t> slice_positions(size_t n,
                                    std::optional<int64_t> start,
                                    std::optional<int64_t> stop,
                                    int64_t step) {
  const auto size = static_cast<int64_t>(n);
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto bound = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    return *at < 0 ? (*at < -size ? lowest : std::max(*at + size, lowest)) : std::min(*at, highest);
  };
  const int64_t from = bound(start, step > 0 ? lowest : highest);
  const int64_t to = bound(stop, step > 0 ? highest : lowest);
  std::vector<size_t> positions;
  for (int64_t at = from; step > 0 ? at < to : at > to;) {
    positions.push_back(static_cast<size_t>(at));
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return positions;
}

Text slice(const Text& text,
           std::optional<int64_t> start,
           std::optional<int64_t> stop,
           int64_t step) {
  const std::vector<size_t> at = borders(text.bytes());
  const std::vector<size_t> positions = slice_positions(at.size() - 1, start, stop, step);
  if (positions.empty()) return text.part(0, 0);
  if (step == 1) {
    const size_t begin = at[positions.front()];
    return text.part(begin, at[positions.back() + 1] - begin);
  }
  Text out = text.part(0, 0);
  for (size_t i : positions) out.append(text.part(at[i], at[i + 1] - at[i]));
  return out;
}

Text change_case(const Text& text, Case to) {
  Text out = text.part(0, 0);
  bool first = true, after_letter = false;
  for (size_t i = 0; i < text.size();) {
    const Utf8Step c = next_utf8(text.bytes(), i);
    if (c.state != Utf8State::whole) {
      out.append(text.part(i, c.size));
    } else {
      const bool upper = to == Case::upper || (to == Case::capitalized && first) ||
                         (to == Case::title && !after_letter);
      append_cased(out, c.code_point, upper, text.origin(i));
    }
    first = false;
    after_letter = is_letter(c.code_point);
    i += c.size;
  }
  return out;
}

std::vector<Text> split(
    Meter& meter, const Text& text, const Text* separator, std::optional<size_t> most, Sides from) {
  if (!separator) {
    return from == Sides::right && most ? rsplit_at_space(meter, text, *most)
                                        : split_at_space(meter, text, most);
  }
  std::vector<Text> parts;
  const std::string& bytes = text.bytes();
  const size_t width = separator->size();
  if (from == Sides::right) {
    size_t end = bytes.size();
    while (end >= width && (!most || parts.size() < *most)) {
      const size_t found = find_last(meter, bytes, separator->bytes(), end - width);
      if (found == std::string::npos) break;
      meter.values(1);
      parts.push_back(text.part(found + width, end - found - width));
      end = found;
    }
    parts.push_back(text.part(0, end));
    std::reverse(parts.begin(), parts.end());
    return parts;
  }
  size_t begin = 0;
  while (!most || parts.size() < *most) {
    const size_t found = find_first(bytes, separator->bytes(), begin);
    if (found == std::string::npos) break;
    meter.values(1);
    parts.push_back(text.part(begin, found - begin));
    begin = found + width;
  }
  parts.push_back(text.part(begin));
  return parts;
}

std::vector<Text> split_lines(Meter& meter, const Text& text, bool keep_ends) {
  std::vector<Text> lines;
  const std::string& bytes = text.bytes();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Utf8Step c = next_utf8(bytes, at);
    const char32_t p = c.code_point;
    const bool ends = (p >= 0x0A && p <= 0x0D) || (p >= 0x1C && p <= 0x1E) || p == 0x85 ||
                      p == 0x2028 || p == 0x2029;
    const size_t line_end = at;
    at += c.size;
    if (!ends) continue;
    if (p == '\r' && at < bytes.size() && bytes[at] == '\n') ++at;
    meter.values(1);
    lines.push_back(text.part(begin, (keep_ends ? at : line_end) - begin));
    begin = at;
  }
  if (begin < bytes.size()) lines.push_back(text.part(begin));
  return lines;
}

Text join(Meter& meter, const std::vector<Text>& parts, const Text& between) {
  size_t size = 0;
  for (const Text& part : parts) size += part.size() + between.size();
  meter.text(size);
  Text out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(between);
    out.append(parts[i]);
  }
  return out;
}

Text replace(
    Meter& meter, const Text& text, const Text& old, const Text& by, std::optional<size_t> most) {
  Text out;
  size_t n = 0, begin = 0;
  const auto goes_on = [&] { return !most || n < *most; };
  const auto put = [&](const Text& part) {
    meter.grow(out.size(), part.size());
    out.append(part);
  };
  if (old.empty()) {  // Python puts it around every character
    for (; begin < text.size() && goes_on(); ++n) {
      const size_t size = next_utf8(text.bytes(), begin).size;
      put(by);
      put(text.part(begin, size));
      begin += size;
    }
    put(text.part(begin));
    if (begin == text.size() && goes_on()) put(by);
    return out;
  }
  for (; goes_on(); ++n) {
    const size_t found = find_first(text.bytes(), old.bytes(), begin);
    if (found == std::string::npos) break;
    put(text.part(begin, found - begin));
    put(by);
    begin = found + old.size();
  }
  put(text.part(begin));
  out.markup = text.markup;
  return out;
}

Text repeat(Meter& meter, const Text& text, int64_t n) {
  Text out = text.part(0, 0);
  if (n <= 0 || text.empty()) return out;
  constexpr auto kMost = int64_t{1} << 40;
  meter.text(text.size() *
             static_cast<size_t>(std::min(n, kMost / static_cast<int64_t>(text.size()) + 1)));
  for (int64_t i = 0; i < n; ++i) out.append(text);
  return out;
}

Text escape_html(const Text& text) {
  Text out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text.bytes()[i];
    const std::string_view name = c == '&'    ? "&amp;"
                                  : c == '<'  ? "&lt;"
                                  : c == '>'  ? "&gt;"
                                  : c == '\'' ? "&#39;"
                                  : c == '"'  ? "&#34;"
                                              : std::string_view();
    if (name.empty()) {
      out.append(text.part(i, 1));
    } else {
      out.append(name, text.origin(i));
    }
  }
  out.markup = true;
  return out;
}

Text add(Meter& meter, const Text& a, const Text& b) {
  meter.text(a.size() + b.size());
  if (a.markup == b.markup) return Text(a).append(b);
  Text out = a.markup ? a : escape_html(a);
  return out.append(b.markup ? b : escape_html(b));
}

size_t character_of_byte(std::string_view text, size_t byte) {
  return count_characters(text.substr(0, byte));
}

}  // namespace maglio::jinja
