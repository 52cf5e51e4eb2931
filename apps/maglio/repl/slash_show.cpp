#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/escaped.h"
#include "maglio/error.h"
#include "maglio/nearest.h"
#include "maglio/repl/settings.h"
#include "maglio/repl/slash_functions.h"
#include "maglio/repl/timing_line.h"
#include "maglio/reply_rates.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

constexpr double kMsPerSecond = 1000, kMega = 1e6;

std::string context_text(Chat& chat) {
  const size_t used = chat.conversation().tokens().size(), all = chat.session().context_size();
  return fmt::format("context: {} of {} tokens, {:.0f} %", used, all,
                     100.0 * static_cast<double>(used) / static_cast<double>(all));
}

std::string system_text(Chat& chat) {
  const auto& system = chat.conversation().options().system;
  if (!system) return "no system message but the template's own, if it has one";
  return system->empty() ? "no system message" : *system;
}

std::string template_text(Chat& chat) {
  const std::string& text = chat.session().model.info().chat_template;
  return text.empty() ? "the model file has no chat template" : text;
}

std::string info_text(Chat& chat) {
  const ModelInfo& info = chat.session().model.info();
  const auto bytes = static_cast<double>(info.weight_bytes);
  std::string text = fmt::format(
      "model: {}, {}, {:.1f} million weights, {:.1f} MB {}\n"
      "machine: {}, {} threads\n",
      info.name.empty() ? "(without a name)" : escaped(info.name), escaped(info.architecture),
      static_cast<double>(info.n_parameters) / kMega, bytes / kMega,
      info.weights == WeightStorage::packed ? "packed" : "mapped", info.isa, info.n_threads);
  for (const std::string& note : info.load_notes) text += note + "\n";
  return text + context_text(chat);
}

std::string history_text(Chat& chat) {
  std::string text;
  for (const Message& message : chat.conversation().messages()) {
    if (!text.empty()) text += '\n';
    text += fmt::format("{}: {}", to_string(message.role), message.content);
  }
  return text.empty() ? "nothing has been said yet" : text;
}

struct Page {
  std::string_view name;
  std::string (*text)(Chat& chat);
};
constexpr Page kPages[] = {{"parameters", settings_text},
                           {"system", system_text},
                           {"template", template_text},
                           {"info", info_text},
                           {"history", history_text}};

}  // namespace

After show(Chat& chat, const std::string& what) {
  std::vector<std::string_view> names;
  for (const Page& page : kPages) {
    if (page.name == what) {
      remark(page.text(chat));
      return After::go_on;
    }
    names.push_back(page.name);
  }
  const auto nearest = nearest_name(what, names);
  throw Error(ErrorKind::bad_request, "UnknownPage",
              fmt::format("/show: expected {}, found '{}'{}", fmt::join(names, ", "), what,
                          nearest ? fmt::format("; did you mean {}?", *nearest) : ""));
}

After show_stats(Chat& chat, const std::string&) {
  if (chat.last_reply()) remark("last · " + timing_line(*chat.last_reply()));
  const Chat::Totals& all = chat.totals();
  const size_t n_later = all.answer_tokens - std::min(all.answer_tokens, all.answers);
  remark(fmt::format(
      "{} answer{} · tokens: {} + {} reused, {:.1f}/s · answers {}, {:.1f}/s · all {:.2f} s",
      all.answers, all.answers == 1 ? "" : "s", all.computed_tokens, all.reused_tokens,
      tokens_per_second(all.computed_tokens, all.prompt_ms), all.answer_tokens,
      tokens_per_second(n_later, all.generation_ms),
      (all.prompt_ms + all.generation_ms) / kMsPerSecond));
  remark(context_text(chat));
  return After::go_on;
}

After show_tokens(Chat& chat, const std::string& text) {
  if (text.empty()) {
    remark(context_text(chat));
    return After::go_on;
  }
  const Tokenizer& tokenizer = chat.session().model.tokenizer();
  const auto ids = tokenizer.encode_plain(text);
  std::string pieces;
  for (TokenId id : ids) pieces += fmt::format(" {} '{}'", id, escaped(tokenizer.piece(id)));
  remark(fmt::format("{} tokens:{}", ids.size(), pieces));
  return After::go_on;
}

}  // namespace maglio::app
