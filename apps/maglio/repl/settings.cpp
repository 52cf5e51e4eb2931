#include "maglio/repl/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/escaped.h"
#include "maglio/error.h"
#include "maglio/escapes.h"
#include "maglio/nearest.h"
#include "maglio/repl/trimmed.h"
#include "maglio/repl/unquoted.h"
#include "maglio/sampling_flags.h"

namespace maglio::app {
namespace {

[[noreturn]] void refuse(std::string_view name, std::string_view expected, std::string_view found) {
  throw Error(ErrorKind::bad_request, "BadSetting",
              fmt::format("/set {}: expected {}, found '{}'", name, expected, escaped(found)));
}

template <class Number>
Number parse(const Setting& setting, const std::string& text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end) {
    refuse(setting.name, std::is_integral_v<Number> ? "a whole number" : "a number", text);
  }
  return number;
}

bool parse_switch(const Setting& setting, const std::string& text) {
  if (text == "on" || text == "off") return text == "on";
  refuse(setting.name, "on or off", text);
}

// A knob of the sampler.
template <auto Knob>
std::string show_knob(Chat& chat) {
  return fmt::format("{}", chat.conversation().options().sampler.*Knob);
}
template <auto Knob>
void set_knob(Chat& chat, const Setting& setting, const std::string& value) {
  SamplerConfig config = chat.conversation().options().sampler;
  config.*Knob = parse<std::remove_reference_t<decltype(config.*Knob)>>(setting, value);
  chat.conversation().set_sampler(config);
}

void set_seed(Chat& chat, const Setting& setting, const std::string& value) {
  SamplerConfig config = chat.conversation().options().sampler;
  const auto seed = parse<int64_t>(setting, value);
  if (seed < -1) refuse(setting.name, "a whole number, or -1 for a fresh seed", value);
  config.seed = seed < 0 ? fresh_seed() : static_cast<uint64_t>(seed);
  chat.conversation().set_sampler(config);
}

std::string show_max_tokens(Chat& chat) {
  const auto limit = chat.conversation().options().max_tokens;
  return limit ? fmt::format("{}", *limit) : "-1";
}
void set_max_tokens(Chat& chat, const Setting& setting, const std::string& value) {
  const auto limit = parse<int64_t>(setting, value);
  if (limit < -1) refuse(setting.name, "a number of tokens, or -1 for no limit", value);
  chat.conversation().set_max_tokens(limit < 0 ? std::nullopt
                                               : std::optional(static_cast<size_t>(limit)));
}

std::string show_stop(Chat& chat) {
  std::vector<std::string> quoted;
  for (const std::string& text : chat.conversation().options().stop.strings) {
    quoted.push_back(fmt::format("'{}'", escaped(text)));
  }
  return quoted.empty() ? "none" : fmt::format("{}", fmt::join(quoted, " "));
}
void set_stop(Chat& chat, const Setting&, const std::string& quoted) {
  const std::string value(unquoted(quoted));
  StopRule rule = chat.conversation().options().stop;
  if (value.empty()) {
    rule.strings.clear();
  } else {
    rule.strings.push_back(with_escapes_read(value));
  }
  chat.conversation().set_stop(std::move(rule));
}

template <bool Chat::*Flag>
std::string show_flag(Chat& chat) {
  return chat.*Flag ? "on" : "off";
}
template <bool Chat::*Flag>
void set_flag(Chat& chat, const Setting& setting, const std::string& value) {
  chat.*Flag = parse_switch(setting, value);
}

std::string show_history(Chat& chat) {
  return chat.lines().keeps_history() ? "on" : "off";
}
void set_history(Chat& chat, const Setting& setting, const std::string& value) {
  chat.lines().keep_history(value.empty() || parse_switch(setting, value));
}
void set_no_history(Chat& chat, const Setting&, const std::string&) {
  chat.lines().keep_history(false);
}
void set_verbose(Chat& chat, const Setting&, const std::string&) {
  chat.shows_timings = true;
}
void set_quiet(Chat& chat, const Setting&, const std::string&) {
  chat.shows_timings = false;
}

using S = SamplerConfig;
constexpr Setting kSettings[] = {
    {"temp", "T", "temperature; 0: always the best token", show_knob<&S::temperature>,
     set_knob<&S::temperature>},
    {"top-k", "K", "keep the K best tokens; 0: all", show_knob<&S::top_k>, set_knob<&S::top_k>},
    {"top-p", "P", "keep the best tokens that reach this probability; 1: all", show_knob<&S::top_p>,
     set_knob<&S::top_p>},
    {"min-p", "P", "keep tokens this probable relative to the best; 0: all", show_knob<&S::min_p>,
     set_knob<&S::min_p>},
    {"repeat-penalty", "X", "divides the logits of repeated tokens; 1: off",
     show_knob<&S::repeat_penalty>, set_knob<&S::repeat_penalty>},
    {"repeat-last-n", "N", "tokens that the penalties look back; 0: off, -1: all",
     show_knob<&S::repeat_last_n>, set_knob<&S::repeat_last_n>},
    {"frequency-penalty", "X", "subtracted for each time a token occurred; 0: off",
     show_knob<&S::frequency_penalty>, set_knob<&S::frequency_penalty>},
    {"presence-penalty", "X", "subtracted from tokens that occurred; 0: off",
     show_knob<&S::presence_penalty>, set_knob<&S::presence_penalty>},
    {"seed", "N", "of the random numbers, which begin anew; -1: a fresh one", show_knob<&S::seed>,
     set_seed},
    {"max-tokens", "N", "tokens of an answer; -1: until the context ends", show_max_tokens,
     set_max_tokens},
    {"stop", "[TEXT]", "one more text before which answers end; alone: none", show_stop, set_stop},
    {"hide-thinking", "on|off", "leave out the thought before an answer",
     show_flag<&Chat::hides_thinking>, set_flag<&Chat::hides_thinking>},
    {"timings", "on|off", "say what each answer took", show_flag<&Chat::shows_timings>,
     set_flag<&Chat::shows_timings>},
    {"verbose", "", "timings on", nullptr, set_verbose},
    {"quiet", "", "timings off", nullptr, set_quiet},
    {"history", "[on|off]", "keep what is typed for later sessions", show_history, set_history},
    {"nohistory", "", "history off", nullptr, set_no_history},
};

// As llama.cpp and ollama spell it.
std::string our_name(std::string_view name) {
  std::string ours(name);
  std::ranges::replace(ours, '_', '-');
  if (ours == "temperature") return "temp";
  if (ours == "num-predict") return "max-tokens";
  return ours;
}

const Setting& find_setting(const std::string& name) {
  std::vector<std::string_view> names;
  for (const Setting& setting : kSettings) {
    if (setting.name == name) return setting;
    names.push_back(setting.name);
  }
  const auto nearest = nearest_name(name, names);
  throw Error(ErrorKind::bad_request, "UnknownSetting",
              fmt::format("{}: no such setting{}; /set lists them", name,
                          nearest ? fmt::format(" (did you mean {}?)", *nearest) : ""));
}

// The first word, and what follows it.
std::pair<std::string, std::string> split(std::string_view text) {
  const size_t end = std::min(text.find_first_of(" \t\n"), text.size());
  return {std::string(text.substr(0, end)), std::string(trimmed(text.substr(end)))};
}

}  // namespace

std::span<const Setting> settings() {
  return kSettings;
}

void change_setting(Chat& chat, const std::string& name_and_value) {
  auto [name, value] = split(name_and_value);
  if (name == "parameter") std::tie(name, value) = split(std::string(value));
  const Setting& setting = find_setting(our_name(name));
  if (setting.value.empty() && !value.empty()) refuse(setting.name, "nothing behind it", value);
  if (value.empty() && !setting.value.empty() && !setting.value.starts_with('[')) {
    refuse(setting.name, fmt::format("{} behind it", setting.value), value);
  }
  setting.set(chat, setting, value);
}

std::string settings_text(Chat& chat) {
  std::string text;
  for (const Setting& setting : kSettings) {
    text += fmt::format("{:<18} {:<8} {:<10} {}\n", setting.name, setting.value,
                        setting.show ? setting.show(chat) : "", setting.help);
  }
  text.pop_back();
  return text;
}

}  // namespace maglio::app
