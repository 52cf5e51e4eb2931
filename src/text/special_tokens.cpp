#include "text/special_tokens.h"

#include <algorithm>
#include <map>

namespace maglio {
namespace {

using Match = SpecialTokens::Match;

// Keeps the matches that no match of higher priority overlaps.
std::vector<Match> choose(std::vector<Match> matches) {
  std::sort(matches.begin(), matches.end(), [](const Match& a, const Match& b) {
    if (a.size != b.size) return a.size > b.size;
    return a.id != b.id ? a.id < b.id : a.begin < b.begin;
  });
  std::map<size_t, Match> chosen;  // by begin
  for (const Match& match : matches) {
    const auto next = chosen.lower_bound(match.begin);
    if (next != chosen.end() && next->first < match.begin + match.size) continue;
    if (next != chosen.begin()) {
      const Match& before = std::prev(next)->second;
      if (before.begin + before.size > match.begin) continue;
    }
    chosen.emplace_hint(next, match.begin, match);
  }
  std::vector<Match> ordered;
  ordered.reserve(chosen.size());
  for (const auto& [begin, match] : chosen) ordered.push_back(match);
  return ordered;
}

}  // namespace

uint32_t SpecialTokens::find_in_list(uint32_t first, char byte) const {
  while (first != kNone && nodes_[first].byte != byte) first = nodes_[first].sibling;
  return first;
}

void SpecialTokens::add(std::string_view text, TokenId id) {
  const auto new_node = [&](char byte, uint32_t sibling) {
    nodes_.push_back({.byte = byte, .sibling = sibling});
    return static_cast<uint32_t>(nodes_.size() - 1);
  };
  uint32_t& root = roots_[static_cast<uint8_t>(text[0])];
  if (root == kNone) root = new_node(text[0], kNone);
  uint32_t node = root;
  for (char byte : text.substr(1)) {
    uint32_t child = find_in_list(nodes_[node].child, byte);
    if (child == kNone) {
      child = new_node(byte, nodes_[node].child);
      nodes_[node].child = child;
    }
    node = child;
  }
  if (nodes_[node].token < 0) nodes_[node].token = id;
}

std::vector<Match> SpecialTokens::find(std::string_view text) const {
  std::vector<Match> matches;
  bool overlap = false;
  size_t covered = 0;  // end of the matches so far
  for (size_t begin = 0; begin < text.size(); ++begin) {
    uint32_t node = roots_[static_cast<uint8_t>(text[begin])];
    for (size_t i = begin; node != kNone;) {
      if (nodes_[node].token >= 0) {
        overlap = overlap || begin < covered;
        covered = std::max(covered, i + 1);
        matches.push_back({begin, i + 1 - begin, nodes_[node].token});
      }
      if (++i == text.size()) break;
      node = find_in_list(nodes_[node].child, text[i]);
    }
  }
  return overlap ? choose(std::move(matches)) : matches;
}

}  // namespace maglio
