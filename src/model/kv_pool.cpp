#include "model/kv_pool.h"

#include <fmt/format.h>

#include <utility>

#include "maglio/error.h"

namespace maglio {

KvPool::KvPool(size_t budget_bytes) : account_(new Account{budget_bytes}) {}

std::shared_ptr<KvPool::Block> KvPool::grant(size_t block_bytes) {
  return std::make_shared<Block>(account_, block_bytes);
}

size_t KvPool::used_bytes() const {
  return account_->used.load();
}

size_t KvPool::budget_bytes() const {
  return account_->budget;
}

KvPool::Block::Block(std::shared_ptr<Account> account, size_t n_bytes)
    : account_(std::move(account)) {
  const size_t before = account_->used.fetch_add(n_bytes);
  try {
    if (account_->budget - std::min(before, account_->budget) < n_bytes) {
      throw Error(ErrorKind::context_full, "KvPoolExhausted",
                  fmt::format("no room for {} more bytes of keys and values: {} of {} are in use; "
                              "end a sequence or raise the budget",
                              n_bytes, before, account_->budget));
    }
    bytes_ = AlignedBytes(n_bytes);
  } catch (...) {
    account_->used.fetch_sub(n_bytes);
    throw;
  }
}

KvPool::Block::~Block() {
  account_->used.fetch_sub(bytes_.size());
}

}  // namespace maglio
