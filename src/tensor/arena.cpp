#include "tensor/arena.h"

#include <algorithm>

namespace maglio {
namespace {

constexpr size_t kSmallestBlock = size_t{1} << 20;

}  // namespace

Arena::Scope::Scope(Arena& arena) : arena_(arena) {
  if (arena_.open_scopes_ == 0) arena_.join_blocks();
  ++arena_.open_scopes_;
  block_ = arena_.block_;
  used_ = arena_.used_;
}

Arena::Scope::~Scope() {
  arena_.block_ = block_;
  arena_.used_ = used_;
  --arena_.open_scopes_;
}

std::byte* Arena::bytes(size_t n) {
  assert(open_scopes_ > 0 && "what is allocated outside a scope would never end");
  const size_t taken = round_up(std::max<size_t>(n, 1), kCacheLine);
  while (block_ < blocks_.size() && blocks_[block_].size() - used_ < taken) {
    ++block_;
    used_ = 0;
  }
  if (block_ == blocks_.size()) {  // growth: at least double, so that it soon ends
    blocks_.emplace_back(std::max({taken, capacity(), kSmallestBlock}));
  }
  std::byte* start = blocks_[block_].data() + used_;
  used_ += taken;
  return start;
}

size_t Arena::capacity() const {
  size_t sum = 0;
  for (const AlignedBytes& block : blocks_) sum += block.size();
  return sum;
}

void Arena::join_blocks() {
  if (blocks_.size() < 2) return;
  const size_t all = capacity();
  blocks_.clear();
  blocks_.emplace_back(all);
}

}  // namespace maglio
