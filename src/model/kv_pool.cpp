#include "model/kv_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "maglio/error.h"

namespace maglio {

struct KvPool::Account {
  explicit Account(size_t budget_bytes) : budget(budget_bytes) {}

  // Throws as grant does.
  AlignedBytes take(size_t n_bytes);
  void give_back(AlignedBytes bytes) noexcept;

  const size_t budget;
  mutable std::mutex mutex;
  size_t used = 0;
  std::vector<AlignedBytes> spare;
};

namespace {

size_t bytes_of(const std::vector<AlignedBytes>& blocks) {
  size_t n = 0;
  for (const AlignedBytes& block : blocks) n += block.size();
  return n;
}

}  // namespace

KvPool::KvPool(size_t budget_bytes) : account_(std::make_shared<Account>(budget_bytes)) {}

std::shared_ptr<KvPool::Block> KvPool::grant(size_t block_bytes) {
  return std::make_shared<Block>(account_, block_bytes);
}

size_t KvPool::used_bytes() const {
  const std::lock_guard lock(account_->mutex);
  return account_->used;
}

size_t KvPool::spare_bytes() const {
  const std::lock_guard lock(account_->mutex);
  return bytes_of(account_->spare);
}

size_t KvPool::budget_bytes() const {
  return account_->budget;
}

AlignedBytes KvPool::Account::take(size_t n_bytes) {
  const std::lock_guard lock(mutex);
  if (budget - used < n_bytes) {
    throw Error(ErrorKind::context_full, "KvPoolExhausted",
                fmt::format("no room for {} more bytes of keys and values: {} of {} are in use; "
                            "end a sequence or raise the budget",
                            n_bytes, used, budget));
  }
  const auto fits = std::ranges::find(spare, n_bytes, &AlignedBytes::size);
  AlignedBytes bytes;
  if (fits != spare.end()) {
    bytes = std::move(*fits);
    *fits = std::move(spare.back());
    spare.pop_back();
  } else {
    while (!spare.empty() && budget - used - bytes_of(spare) < n_bytes) spare.pop_back();
    bytes = AlignedBytes(n_bytes);
  }
  used += n_bytes;
  return bytes;
}

void KvPool::Account::give_back(AlignedBytes bytes) noexcept {
  const std::lock_guard lock(mutex);
  used -= bytes.size();
  try {
    spare.push_back(std::move(bytes));
  } catch (const std::bad_alloc&) {  // then the system gets it
  }
}

KvPool::Block::Block(std::shared_ptr<Account> account, size_t n_bytes)
    : account_(std::move(account)), bytes_(account_->take(n_bytes)) {}

KvPool::Block::~Block() {
  account_->give_back(std::move(bytes_));
}

}  // namespace maglio
