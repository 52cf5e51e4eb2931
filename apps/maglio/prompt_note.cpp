#include "maglio/prompt_note.h"

#include <fmt/format.h>

#include <memory>

#include "maglio/interrupt.h"
#include "maglio/progress_bar.h"

namespace maglio::app {

std::string prompt_text(size_t n_read, size_t n_all, size_t n_before, double seconds) {
  return fmt::format("reading {} {} of {} tokens{}", progress_bar(n_read, n_all), n_read, n_all,
                     time_left(n_read - n_before, n_all - n_before, seconds));
}

bool PromptNote::tell(size_t n_read, size_t n_all) {
  const std::chrono::duration<double> taken = Clock::now() - start_;
  if (n_read == n_all || InterruptGuard::interrupted()) {
    note_.reset();
  } else if (note_) {
    note_->update(prompt_text(n_read, n_all, n_before_, taken.count()));
  } else {
    n_before_ = n_read;
    note_.emplace(prompt_text(n_read, n_all, n_before_, taken.count()));
  }
  return !InterruptGuard::interrupted();
}

PromptSink PromptNote::sink() {
  return [note = std::make_shared<std::optional<PromptNote>>()](size_t n_read, size_t n_all) {
    if (!*note) note->emplace();
    const bool wanted = (*note)->tell(n_read, n_all);
    if (n_read == n_all || !wanted) note->reset();
    return wanted;
  };
}

}  // namespace maglio::app
