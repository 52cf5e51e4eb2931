#include "maglio/loading_note.h"

#include <fmt/format.h>

#include <filesystem>

#include "maglio/progress_bar.h"

namespace maglio::app {
namespace {

constexpr std::chrono::milliseconds kBetween{200};  // small models load without a word

}  // namespace

std::string loading_text(const std::string& name, uint64_t done, uint64_t all, double seconds) {
  constexpr double kGiga = 1e9;
  return fmt::format("loading {} {} {:.1f} of {:.1f} GB{}", name, progress_bar(done, all),
                     static_cast<double>(done) / kGiga, static_cast<double>(all) / kGiga,
                     time_left(done, all, seconds));
}

LoadingNote::LoadingNote(const std::string& model)
    : name_(std::filesystem::path(model).filename().string()),
      note_(fmt::format("loading {} ...", name_)) {}

void LoadingNote::tell(uint64_t done_bytes, uint64_t all_bytes) {
  const auto now = Clock::now();
  if (now - told_ < kBetween) return;
  told_ = now;
  const std::chrono::duration<double> taken = now - start_;
  note_.update(loading_text(name_, done_bytes, all_bytes, taken.count()));
}

}  // namespace maglio::app
