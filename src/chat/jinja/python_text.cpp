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

// The byte of character i. Requires: there are so many, or it is the end.
size_t byte_of_character(std::string_view text, size_t i) {
  size_t at = 0;
  while (i-- > 0) at += next_utf8(text, at).size;
  return at;
}

// The Unicode standard's simple mappings, and the one letter of German that grows.
std::string cased(char32_t c, bool upper) {
  constexpr char32_t kSharpS = 0xDF;
  if (upper && c == kSharpS) return "SS";
  const auto code = static_cast<utf8proc_int32_t>(c);
  std::string bytes;
  append_utf8(bytes,
              static_cast<char32_t>(upper ? utf8proc_toupper(code) : utf8proc_tolower(code)));
  return bytes;
}

// Most text is ASCII, which is worth a way of its own: 2 ns a letter where utf8proc takes 30.
bool is_ascii(char c) {
  return static_cast<unsigned char>(c) < 0x80;
}
bool is_ascii_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_ascii_lower(char c) {
  return c >= 'a' && c <= 'z';
}
char ascii_cased(char c, bool upper) {
  return (upper ? is_ascii_lower(c) : is_ascii_upper(c)) ? static_cast<char>(c ^ 0x20) : c;
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

Picked pick(size_t n, std::optional<int64_t> start, std::optional<int64_t> stop, int64_t step) {
  const auto size = static_cast<int64_t>(n);
  const int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? size : size - 1;
  const auto bound = [&](std::optional<int64_t> at, int64_t otherwise) {
    if (!at) return otherwise;
    return *at < 0 ? (*at < -size ? lowest : std::max(*at + size, lowest)) : std::min(*at, highest);
  };
  const int64_t from = bound(start, step > 0 ? lowest : highest);
  const int64_t to = bound(stop, step > 0 ? highest : lowest);
  const auto distance =
      static_cast<uint64_t>(std::max<int64_t>(step > 0 ? to - from : from - to, 0));
  const uint64_t stride = step > 0 ? static_cast<uint64_t>(step) : -static_cast<uint64_t>(step);
  return {from, distance == 0 ? 0 : (distance - 1) / stride + 1, step};
}

Text slice(const Text& text,
           std::optional<int64_t> start,
           std::optional<int64_t> stop,
           int64_t step) {
  const std::string& bytes = text.bytes();
  const Picked picked = pick(count_characters(bytes), start, stop, step);
  Text out = text.part(0, 0);
  if (picked.count == 0) return out;
  const bool backwards = step < 0;
  const size_t lowest = picked.at(backwards ? picked.count - 1 : 0);
  size_t at = byte_of_character(bytes, lowest);
  const auto next = [&](size_t n) {
    for (; n > 0; --n) at += next_utf8(bytes, at).size;
  };
  if (step == 1) {
    const size_t begin = at;
    next(picked.count);
    return text.part(begin, at - begin);
  }
  const auto stride = static_cast<size_t>(backwards ? -step : step);
  for (size_t i = 0; i < picked.count; ++i) {
    if (i > 0) next(stride);
    const size_t size = next_utf8(bytes, at).size, place = out.size();
    out.append_part(text, at, size);
    if (backwards) out.reverse(place);  // it comes right when all is turned round
  }
  if (backwards) out.reverse(0);
  return out;
}

Text change_case(const Text& text, Case to) {
  Text out = text.part(0, 0);
  bool first = true, after_letter = false;
  const auto goes_up = [&] {
    return to == Case::upper || (to == Case::capitalized && first) ||
           (to == Case::title && !after_letter);
  };
  const std::string& bytes = text.bytes();
  std::string run;  // of ASCII
  for (size_t i = 0; i < bytes.size();) {
    run.clear();
    for (size_t k = i; k < bytes.size() && is_ascii(bytes[k]); ++k) {
      run += ascii_cased(bytes[k], goes_up());
      first = false;
      after_letter = is_ascii_upper(bytes[k]) || is_ascii_lower(bytes[k]);
    }
    out.append_for(run, text, i);
    i += run.size();
    if (i == bytes.size()) break;
    const Utf8Step c = next_utf8(bytes, i);
    if (c.state != Utf8State::whole) {
      out.append_part(text, i, c.size);
    } else {
      out.append(cased(c.code_point, goes_up()), text.origin(i));
    }
    first = false;
    after_letter = is_letter(c.code_point);
    i += c.size;
  }
  return out;
}

bool is_in_case(std::string_view text, Case to) {
  bool has_case = false;
  for (size_t i = 0; i < text.size();) {
    if (is_ascii(text[i])) {
      if (to == Case::upper ? is_ascii_lower(text[i]) : is_ascii_upper(text[i])) return false;
      has_case = has_case || is_ascii_lower(text[i]) || is_ascii_upper(text[i]);
      ++i;
      continue;
    }
    const Utf8Step c = next_utf8(text, i);
    if (c.state == Utf8State::whole) {
      const std::string upper = cased(c.code_point, true), lower = cased(c.code_point, false);
      if (text.substr(i, c.size) != (to == Case::upper ? upper : lower)) return false;
      has_case = has_case || upper != lower;
    }
    i += c.size;
  }
  return has_case;
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
      out.append_part(text, i, 1);
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
