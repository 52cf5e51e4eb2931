// The flags of `maglio run`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "maglio/conversation.h"
#include "maglio/model.h"
#include "maglio/sampling_flags.h"
#include "maglio/storage_flags.h"
#include "maglio/terminal.h"

namespace CLI {
class App;
}

namespace maglio::app {

struct RunFlags {
  std::string model;

  // What to do; at most one of the first group, else a chat at the terminal or from the pipe.
  std::optional<std::string> chat, prompt, prompt_file, prompt_ids, tokenize_file;
  bool repl = false;
  bool single_turn = false;
  std::optional<int64_t> gen;  // -1: until the context ends
  bool ignore_eos = false;
  bool json = false;
  bool escape = false;

  std::optional<std::string> system, system_file;
  bool no_think = false;
  std::optional<int64_t> max_tokens;
  std::vector<std::string> stop;
  std::string chat_template = "file";
  bool parse_special = false, no_parse_special = false;
  std::string normalize = "none";

  std::string color = "auto";
  bool hide_thinking = false;
  bool no_timings = false, verbose = false;
  std::optional<std::string> history;  // file; nothing: the user's own

  SamplingFlags sampling;

  LoadOptions load;
  StorageFlags storage;
  size_t context_size = 0;
  std::optional<std::string> cache_type;  // f16
  bool speculate = false;
  std::vector<std::string> spec_references;  // files

  std::optional<size_t> streams;

  std::optional<std::string> logits_out, compare_logits;
  std::optional<size_t> verify_cache, bench;

  void add_to(CLI::App& command);
  // Throws: CLI::ValidationError for flags that exclude each other.
  void check() const;
  // Reads what the flags only name: --system-file, and escapes with -e. Throws: Error io.
  void settle();
  // --fit: decides what nobody has decided. Returns what is to be said of it.
  // Throws: as fit_model.
  std::string fit_to_memory();

  bool is_completion() const { return prompt || prompt_file || prompt_ids; }
  bool has_oracle() const { return logits_out || compare_logits || verify_cache || bench; }
  // Tokens to append to a prompt; std::numeric_limits<size_t>::max(): until the context ends.
  size_t completion_limit() const;
  Thinking thinking() const { return no_think ? Thinking::off : Thinking::on; }
  Colour colour() const;
  // A chat at a terminal says what an answer took, anything else only when asked.
  bool shows_timings(bool chatting) const { return verbose || (chatting && !no_timings); }
  LoadOptions load_options() const;
  CacheFormat cache() const;
  Tokenizer::Normalization normalization() const;
  // In a prompt special tokens are parsed unless told otherwise, in a chat they are not.
  Tokenizer::Specials prompt_specials() const;
  Tokenizer::Specials chat_specials() const;
};

}  // namespace maglio::app
