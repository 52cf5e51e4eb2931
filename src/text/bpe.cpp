#include "text/bpe.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <unordered_map>

#include "base/escaped.h"
#include "base/utf8.h"
#include "maglio/error.h"
#include "text/byte_alphabet.h"

namespace maglio {
namespace {

constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
constexpr int32_t kMerged = -2;

// Numbers for spellings: tokens keep their id, the others are counted on from the vocabulary's end.
class SymbolNumbers {
 public:
  explicit SymbolNumbers(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  int32_t of(std::string_view spelling) {
    if (const auto id = vocabulary_.find(spelling)) return *id;
    const auto next = static_cast<int32_t>(vocabulary_.size() + others_.size());
    return others_.try_emplace(std::string(spelling), next).first->second;
  }

 private:
  const Vocabulary& vocabulary_;
  std::unordered_map<std::string, int32_t> others_;
};

// The heap's order: std::push_heap keeps the largest on top, so "less" means "comes later".
bool comes_later(const Bpe::Scratch::Candidate& a, const Bpe::Scratch::Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
}

}  // namespace

Bpe::Bpe(const Vocabulary& vocabulary, std::span<const std::string_view> merges)
    : vocab_size_(vocabulary.size()), rules_(std::bit_ceil(merges.size() * 3 / 2 + 2)) {
  SymbolNumbers numbers(vocabulary);
  for (unsigned byte = 0; byte < 256; ++byte) {
    std::string spelling;
    append_utf8(spelling, byte_to_char(static_cast<uint8_t>(byte)));
    byte_symbols_[byte] = numbers.of(spelling);
  }
  std::string merged;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const std::string_view merge = merges[rank];
    const size_t space = merge.find(' ', 1);  // from 1: the left part may itself be a space
    if (space == std::string_view::npos || space + 1 == merge.size()) {
      throw Error(
          ErrorKind::bad_file, "BadMerge",
          fmt::format("tokenizer.ggml.merges[{}] is '{}', expected two symbols with a space "
                      "between them",
                      rank, escaped(merge)));
    }
    const std::string_view left = merge.substr(0, space);
    const std::string_view right = merge.substr(space + 1);
    merged.assign(left).append(right);
    add_rule(
        {numbers.of(left), numbers.of(right), numbers.of(merged), static_cast<uint32_t>(rank)});
  }
}

void Bpe::encode(std::string_view chunk, Scratch& scratch, std::vector<TokenId>& ids) const {
  const auto n = static_cast<uint32_t>(chunk.size());
  auto& nodes = scratch.nodes;
  nodes.resize(n);
  scratch.heap.clear();
  for (uint32_t i = 0; i < n; ++i) {
    const int32_t symbol = byte_symbols_[static_cast<uint8_t>(chunk[i])];
    nodes[i] = {symbol, i + 1 < n ? i + 1 : kNone, i > 0 ? i - 1 : kNone};
  }
  for (uint32_t i = 0; i + 1 < n; ++i) propose(scratch, i);
  merge_all(scratch);
  for (uint32_t i = 0; i < n; i = nodes[i].next) {
    const uint32_t end = std::min(nodes[i].next, n);
    if (static_cast<size_t>(nodes[i].symbol) < vocab_size_) {
      ids.push_back(nodes[i].symbol);
    } else {
      append_bytes(chunk.substr(i, end - i), ids);
    }
  }
}

void Bpe::merge_all(Scratch& scratch) const {
  auto& nodes = scratch.nodes;
  auto& heap = scratch.heap;
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    const Scratch::Candidate best = heap.back();
    heap.pop_back();
    ++scratch.n_steps;
    // A neighbour has merged with another in the meantime: then the pair is no more.
    const Rule& rule = rules_[best.rule];
    Scratch::Node& left = nodes[best.left];
    if (left.symbol != rule.left || left.next == kNone) continue;
    Scratch::Node& right = nodes[left.next];
    if (right.symbol != rule.right) continue;

    left.symbol = rule.merged;
    left.next = right.next;
    right.symbol = kMerged;
    if (left.next != kNone) nodes[left.next].prev = best.left;
    if (left.prev != kNone) propose(scratch, left.prev);
    if (left.next != kNone) propose(scratch, best.left);
  }
}

void Bpe::propose(Scratch& scratch, uint32_t left) const {
  const Scratch::Node& node = scratch.nodes[left];
  const uint32_t rule = find_rule(node.symbol, scratch.nodes[node.next].symbol);
  if (rule == kNone) return;
  scratch.heap.push_back({rules_[rule].rank, left, rule});
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), comes_later);
}

void Bpe::append_bytes(std::string_view bytes, std::vector<TokenId>& ids) const {
  for (char byte : bytes) {
    const int32_t symbol = byte_symbols_[static_cast<uint8_t>(byte)];
    if (static_cast<size_t>(symbol) >= vocab_size_) {
      throw Error(ErrorKind::bad_file, "UnknownSymbol",
                  fmt::format("the vocabulary has no token for byte 0x{:02x}, so this text cannot "
                              "be encoded",
                              static_cast<uint8_t>(byte)));
    }
    ids.push_back(symbol);
  }
}

size_t Bpe::slot_of(int32_t left, int32_t right) const {
  const uint64_t key =
      static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
  const int bits = std::countr_zero(rules_.size());
  // Fibonacci hashing (Knuth, vol. 3, §6.4): 2^64 / golden ratio.
  return static_cast<size_t>((key ^ key >> 29) * 0x9E3779B97F4A7C15u >> (64 - bits));
}

uint32_t Bpe::find_rule(int32_t left, int32_t right) const {
  const size_t mask = rules_.size() - 1;
  for (size_t i = slot_of(left, right);; i = (i + 1) & mask) {
    const Rule& rule = rules_[i];
    if (rule.left == left && rule.right == right) return static_cast<uint32_t>(i);
    if (rule.left == kEmpty) return kNone;
  }
}

void Bpe::add_rule(const Rule& rule) {
  const size_t mask = rules_.size() - 1;
  size_t i = slot_of(rule.left, rule.right);
  for (; rules_[i].left != kEmpty; i = (i + 1) & mask) {
    if (rules_[i].left == rule.left && rules_[i].right == rule.right) return;  // the first one wins
  }
  rules_[i] = rule;
}

}  // namespace maglio
