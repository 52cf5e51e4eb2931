// The four chat templates that maglio renders itself: ChatML (Qwen, SmolLM), Llama 3, Gemma and
// Gemma 4. Which one a model speaks is recognised from the Jinja text in its file by the marker
// that opens a turn.
//
//   ChatML   <|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n
//   Llama 3  <|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>...
//   Gemma    <start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n
//   Gemma 4  <|turn>user\nHi<turn|>\n<|turn>model\n
//
// Llama 3 and Gemma strip the white space around what is said, as their own templates do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "chat/rendered.h"
#include "maglio/conversation.h"

namespace maglio::chat {

enum class Family : uint8_t { chatml, llama3, gemma, gemma4 };

// What stands at the end of a rendered history.
enum class Opening : uint8_t { next_answer, nothing };

struct Turn {
  std::string_view user;
  std::optional<std::string_view> system = {};  // of the first turn; empty counts as none
  bool first = true;                            // later turns first close the answer before them
  Thinking thinking = Thinking::on;
};

class Template {
 public:
  // Without a source, a template has no system message of its own.
  explicit Template(Family family) : family_(family) {}

  // From the model's Jinja source (tokenizer.chat_template); nothing when it is none of the four.
  static std::optional<Template> detect(std::string_view source);

  Family family() const { return family_; }
  // The text of the token that ends a turn.
  std::string_view stop_marker() const;
  // Does a conversation open with BOS, whatever the tokenizer's policy says?
  bool opens_with_bos() const { return family_ != Family::chatml; }
  // What the template says as system when nobody else does: ChatML models carry it as a literal
  // (SmolLM2, Qwen2.5); Qwen3's has none.
  const std::optional<std::string>& default_system() const { return default_system_; }

  // One turn, to be appended to what was rendered and generated before.
  Rendered render_turn(const Turn& turn) const;

  // A whole history, ready for the next answer. The thoughts (<think>...</think>) of answers before
  // the last question are left out. An assistant message at the end is continued.
  // Throws: Error bad_request "EmptyMessages", "SystemMidConversation"; unsupported "ToolMessage".
  Rendered render_messages(std::span<const Message> messages,
                           Thinking thinking,
                           Opening opening = Opening::next_answer) const;

 private:
  void open(Rendered& out, Role role) const;
  void close(Rendered& out) const;
  void say(Rendered& out, std::string_view text) const;
  void open_answer(Rendered& out, Thinking thinking) const;
  void system_turn(Rendered& out, std::string_view system) const;

  Family family_;
  std::optional<std::string> default_system_;
};

}  // namespace maglio::chat
