#include "support/xml_check.h"

#include <cctype>
#include <vector>

namespace maglio::test {
namespace {

bool is_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == ':' || c == '_';
}

// The text between tags, or an attribute's value.
bool is_clean(std::string_view text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') return false;
    if (text[i] != '&') continue;
    const std::string_view rest = text.substr(i);
    bool known = false;
    for (const std::string_view entity : {"&amp;", "&lt;", "&gt;", "&quot;", "&#"}) {
      known = known || rest.starts_with(entity);
    }
    if (!known) return false;
  }
  return true;
}

// What stands between < and >: name="value" name="value".
bool are_attributes(std::string_view text) {
  while (true) {
    while (!text.empty() && text[0] == ' ') text.remove_prefix(1);
    if (text.empty()) return true;
    size_t n = 0;
    while (n < text.size() && is_name(text[n])) ++n;
    if (n == 0 || text.substr(n, 2) != "=\"") return false;
    const size_t end = text.find('"', n + 2);
    if (end == text.npos || !is_clean(text.substr(n + 2, end - n - 2))) return false;
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::string xml_fault(std::string_view text) {
  std::vector<std::string_view> open;
  size_t n_roots = 0;
  while (!text.empty()) {
    const size_t at = text.find('<');
    const std::string_view between = text.substr(0, at);
    if (!is_clean(between)) return "text: " + std::string(between);
    if (open.empty() && between.find_first_not_of(" \n") != between.npos) return "text outside";
    if (at == text.npos) break;
    const size_t end = text.find('>', at);
    if (end == text.npos) return "a tag without end";
    std::string_view tag = text.substr(at + 1, end - at - 1);
    text.remove_prefix(end + 1);
    if (tag.starts_with('/')) {
      if (open.empty() || open.back() != tag.substr(1)) return "closes: " + std::string(tag);
      open.pop_back();
      continue;
    }
    const bool closed = tag.ends_with('/');
    if (closed) tag.remove_suffix(1);
    size_t n = 0;
    while (n < tag.size() && is_name(tag[n])) ++n;
    if (n == 0 || !are_attributes(tag.substr(n))) return "tag: " + std::string(tag);
    if (open.empty() && n_roots++ > 0) return "a second root";
    if (!closed) open.push_back(tag.substr(0, n));
  }
  if (!open.empty()) return "still open: " + std::string(open.back());
  return n_roots == 1 ? "" : "no root";
}

}  // namespace maglio::test
