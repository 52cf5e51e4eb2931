// A conversation with a model: turns in, answers out, as they come.
//
//   maglio::Conversation chat(model, {.system = "Be brief.", .sampler = {.temperature = 0.7f}});
//   chat.send("Capital of France?", [](std::string_view piece) { std::cout << piece; return true;
//   });
//
// There is no chat in a language model: it continues text. A chat template says in which form the
// model was taught to see turns (section 12.7).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "maglio/constraint.h"
#include "maglio/generation.h"
#include "maglio/model.h"
#include "maglio/tokenizer.h"

namespace maglio {

enum class Role : uint8_t { system, user, assistant, tool };

std::string_view to_string(Role role);
// Throws: Error bad_request "UnknownRole".
Role role_from_string(std::string_view name);

// A tool that an answer asks to be called.
struct ToolCall {
  std::string id;  // by which the result names its call; may be empty
  std::string name;
  std::string arguments;  // JSON, as the model or the client wrote it
  bool operator==(const ToolCall&) const = default;
};

struct Message {
  Role role;
  std::string content;
  std::string reasoning_content = {};     // the thought before an answer, where it is kept apart
  std::vector<ToolCall> tool_calls = {};  // of an answer
  std::string tool_call_id = {};          // of a tool's result: the call it belongs to
  std::string name = {};                  // of the speaker, or of the tool
  bool operator==(const Message&) const = default;
};

// Whether the model may reason before it answers. off writes an empty thought for it, which is
// what the models that reason were taught to take for one.
enum class Thinking : uint8_t { on, off };

// How a cache holds keys and values: q8_0 takes about half the memory of f16.
enum class CacheFormat : uint8_t { f16, q8_0 };

// What becomes of a turn that does not fit the context.
enum class Overflow : uint8_t {
  refuse,       // Error "ContextFull"; nothing is lost
  drop_oldest,  // the oldest turns are forgotten until it fits and an answer of max_tokens has
                // room, at most a quarter of the context; the system message and the last turn stay
};

struct ConversationOptions {
  // native (the renderers in maglio), file (the model's own template), or a path to a template.
  std::string chat_template = "file";
  std::optional<std::string> system =
      {};  // nullopt: the template's own, if it has one; "": none at all
  SamplerConfig sampler = {};
  StopRule stop = {};
  Thinking thinking = Thinking::on;
  size_t context_size = 0;  // tokens, prompt and answers together; 0: the model's own
  CacheFormat cache = CacheFormat::f16;
  // Of one answer; nullopt: until the context ends; 0 only reads the prompt.
  std::optional<size_t> max_tokens = {};
  SpeculationOptions speculation = {};
  // How text that a user typed is read. With plain, a control token's name stays text; parse is
  // what other engines do.
  Tokenizer::Specials user_specials = Tokenizer::Specials::plain;
  Tokenizer::Normalization normalization = Tokenizer::Normalization::none;
  std::vector<TokenId> extra_stop_ids = {};  // end an answer as the model's own end tokens do
  Overflow overflow = Overflow::refuse;
  // The file that the conversation is kept in, turn by turn, and taken from where it is there
  // already; empty: none.
  std::filesystem::path file = {};
  PromptSink on_prompt = {};  // where a prompt is cut short, regenerate() goes on with it
};

// What was found in the file that a conversation came from.
struct FoundInFile {
  size_t turns = 0;  // whole ones; what was undone or cleared counts as one, too
  // Behind them the file is damaged, or ends in the middle of a turn: what is lost with that part,
  // at least so many turns.
  size_t lost_turns = 0;
  uint64_t lost_bytes = 0;
};

struct BatchTurn;
struct BatchOutcome;

// Owns history, cache and sampler; shares the model. Single-threaded, and so is its model: one
// conversation of a model computes at a time. Movable.
//
// The history is kept twice: as messages, and as the tokens that the model has seen. For each turn
// the template renders all messages anew - templates leave old thoughts out, for example - and only
// what follows the first difference from the tokens is computed. What an answer costs stands in its
// Reply: prompt_tokens, cached_tokens and computed_tokens().
class Conversation {
 public:
  // Throws: Error unsupported "UnknownChatTemplate" when the model has no chat template, or none
  // that maglio renders; bad_request for a setting out of range.
  explicit Conversation(const Model& model, const ConversationOptions& options = {});
  Conversation(Conversation&&) noexcept;
  Conversation& operator=(Conversation&&) noexcept;
  ~Conversation();

  // Says `user` and hands the answer to the sink as it comes; a constraint says which tokens it may
  // have (constraint.h).
  // Throws: Error context_full "ContextFull" when the turn does not fit; the conversation is then
  // as it was before, to the last random number. Any other Error leaves the history as it was, too.
  Reply send(std::string_view user, const TextSink& sink, Constraint* constraint = nullptr);

  // Drops the last answer and gives another.
  // Throws: as send; Error bad_request "NoAnswer" unless has_answer().
  Reply regenerate(const TextSink& sink, Constraint* constraint = nullptr);
  bool has_answer() const;

  // Forgets the last question and what followed it. False: there was none.
  // Throws: Error io "CannotWriteFile": it is forgotten, but the file of the options holds it until
  // the next turn is kept.
  bool undo_turn();

  // Forgets every turn. The sampler goes on where it was. Throws: as undo_turn.
  void clear();

  // A second conversation with the same past, which from here on goes its own way. The memory of
  // the past is shared, not copied.
  Conversation fork() const;

  // To a file, in place of any that has the name, once it is complete; and back, in place of what
  // this conversation was. With the history come the system message, whether to think, the keys and
  // values, so that nothing is computed again, and the sampler's place where the seed is the same:
  // a loaded conversation goes on as the saved one would have, bit for bit.
  // Throws: Error io "CannotWriteFile"; io "CannotOpenFile", bad_file "NotAConversation" or
  // "DamagedConversation", bad_request "ConversationOfAnotherModel" or "MismatchedKvCaches" (the
  // model or the cache format is another), context_full "ContextFull". Nothing has changed then.
  // A file that is damaged behind a whole turn gives the turns before: found_in_file() says so.
  void save(const std::filesystem::path& path);
  void load(const std::filesystem::path& path);

  // Of the last load, or of the file of the options when it was opened.
  const FoundInFile& found_in_file() const;

  // Questions and answers so far, without the system message. The thought of an answer stands in
  // its reasoning_content.
  std::span<const Message> messages() const;

  // What the template made of it, as the model sees it.
  std::span<const TokenId> tokens() const;

  const ConversationOptions& options() const;

  // From the next turn on. Another system message is another beginning: all is computed again.
  void set_system(std::optional<std::string> system);
  void set_thinking(Thinking thinking);
  // Starts at the seed. Throws: Error bad_request "BadSamplerConfig"; nothing has changed then.
  void set_sampler(const SamplerConfig& config);
  void set_stop(StopRule stop);
  void set_max_tokens(std::optional<size_t> max_tokens);

 private:
  friend std::vector<BatchOutcome> send_batch(std::span<const BatchTurn> turns);
  static std::vector<BatchOutcome> send_batch(std::span<const BatchTurn> turns);

  struct State;
  explicit Conversation(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace maglio
