// Where a mixture's experts come from when tokens were routed to them.
//
// All of them may be in memory, or a few at a time. So a mixture does not hold its experts: it is
// lent them, some at a time, until it had all that its tokens need. In which portions they come
// changes no bit (ops/mixture.h).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "ops/linear.h"
#include "ops/router.h"

namespace maglio {

// A feed-forward network, Inner wide inside.
template <class Inner>
struct GatedNetwork {
  Projections<Embed, Inner, Inner> gate_up;
  Weight<Embed, Inner> down;
};
using FeedForward = GatedNetwork<Ff>;  // a layer's only one, or one expert

struct LentExpert {
  uint32_t expert;
  FeedForward weights;
};

// For one thread at a time.
class ExpertSource {
 public:
  using Use = std::function<void(std::span<const LentExpert>)>;

  virtual ~ExpertSource() = default;

  // Formats and geometry, which all experts of a layer share; it has no bytes to be read.
  virtual const FeedForward& form() const = 0;
  virtual size_t n_experts() const = 0;

  // Calls use(), each time with one expert or more, until every wanted one was lent once. What it
  // is given ends when it returns. Requires: no expert twice. Throws: Error io where weights have
  // to be read and cannot be; what use() throws.
  virtual void lend(std::span<const ExpertDemand> wanted, const Use& use) = 0;

  // Hints, for sources that have to bring experts from somewhere. Those will be asked for next:
  virtual void send_for(std::span<const ExpertDemand>) {}
  // Those probably, the likeliest first, after others of other layers; of no use where it is not
  // asked for.
  virtual bool looks_ahead() const { return false; }
  virtual void expect(std::span<const ExpertDemand>) {}
};

// Experts that are all there, in memory or in the mapped file.
class ResidentExperts final : public ExpertSource {
 public:
  // Requires: at least one; what they point to outlives the object.
  explicit ResidentExperts(std::vector<FeedForward> experts) : experts_(std::move(experts)) {}

  const FeedForward& form() const override { return experts_[0]; }
  size_t n_experts() const override { return experts_.size(); }
  void lend(std::span<const ExpertDemand> wanted, const Use& use) override {
    lent_.clear();
    for (const ExpertDemand& demand : wanted) {
      lent_.push_back({demand.expert, experts_[demand.expert]});
    }
    if (!lent_.empty()) use(lent_);
  }

 private:
  std::vector<FeedForward> experts_;
  std::vector<LentExpert> lent_;
};

}  // namespace maglio
