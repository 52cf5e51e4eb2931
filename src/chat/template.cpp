#include "chat/template.h"

#include <fmt/format.h>

#include "chat/default_system.h"
#include "maglio/error.h"

namespace maglio::chat {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

// An answer without the thought in front of it.
std::string_view without_thought(std::string_view answer) {
  constexpr std::string_view kEnd = "</think>";
  const size_t end = answer.rfind(kEnd);
  if (end == std::string_view::npos) return answer;
  answer.remove_prefix(end + kEnd.size());
  const size_t first = answer.find_first_not_of('\n');
  return first == std::string_view::npos ? std::string_view() : answer.substr(first);
}

void check(std::span<const Message> messages) {
  if (messages.empty()) {
    throw Error(ErrorKind::bad_request, "EmptyMessages", "messages: expected at least one");
  }
  for (const Message& message : messages) {
    if (message.role == Role::tool) {
      throw Error(ErrorKind::unsupported, "ToolMessage",
                  "the native chat templates have no form for the result of a tool");
    }
  }
}

}  // namespace

std::optional<Template> Template::detect(std::string_view source) {
  auto has = [&](std::string_view marker) { return source.find(marker) != source.npos; };
  if (has("<|im_start|>")) {
    Template chatml(Family::chatml);
    chatml.default_system_ = default_system_message(source);
    return chatml;
  }
  if (has("<|start_header_id|>")) return Template(Family::llama3);
  if (has("<|turn>")) return Template(Family::gemma4);
  if (has("<start_of_turn>")) return Template(Family::gemma);
  return std::nullopt;
}

std::string_view Template::stop_marker() const {
  switch (family_) {
    case Family::chatml:
      return "<|im_end|>";
    case Family::llama3:
      return "<|eot_id|>";
    case Family::gemma:
      return "<end_of_turn>";
    case Family::gemma4:
      return "<turn|>";
  }
  return {};
}

Rendered Template::render_turn(const Turn& turn) const {
  Rendered out;
  if (!turn.first) close(out);
  const bool has_system = turn.first && turn.system && !turn.system->empty();
  if (has_system && family_ != Family::gemma) system_turn(out, *turn.system);
  open(out, Role::user);
  if (has_system && family_ == Family::gemma) out.said(trimmed(*turn.system)).words("\n\n");
  say(out, turn.user);
  close(out);
  open_answer(out, turn.thinking);
  return out;
}

Rendered Template::render_messages(std::span<const Message> messages,
                                   Thinking thinking,
                                   Opening opening) const {
  check(messages);
  size_t last_question = 0;
  for (size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == Role::user) last_question = i;
  }
  Rendered out;
  if (default_system_ && messages.front().role != Role::system) system_turn(out, *default_system_);
  std::string_view gemma_system;  // said at the head of the first question
  for (size_t i = 0; i < messages.size(); ++i) {
    const Role role = messages[i].role;
    const std::string& content = messages[i].content;
    if (role == Role::system && content.empty()) continue;  // says: none at all
    if (family_ == Family::gemma && role == Role::system) {
      if (i > 0) {
        throw Error(ErrorKind::bad_request, "SystemMidConversation",
                    fmt::format("message {}: this model takes a system message only first", i));
      }
      gemma_system = trimmed(content);
      continue;
    }
    open(out, role);
    if (role == Role::user && !gemma_system.empty()) {
      out.said(gemma_system).words("\n\n");
      gemma_system = {};
    }
    const bool old_answer = role == Role::assistant && i < last_question;
    say(out, old_answer ? without_thought(content) : std::string_view(content));
    const bool continues = opening == Opening::next_answer && i + 1 == messages.size();
    if (role == Role::assistant && continues) return out;
    close(out);
  }
  if (opening == Opening::next_answer) open_answer(out, thinking);
  return out;
}

void Template::open(Rendered& out, Role role) const {
  const bool gemma = family_ == Family::gemma || family_ == Family::gemma4;
  const std::string_view name = gemma && role == Role::assistant ? "model" : to_string(role);
  switch (family_) {
    case Family::chatml:
      out.marker("<|im_start|>").words(fmt::format("{}\n", name));
      return;
    case Family::llama3:
      out.marker("<|start_header_id|>").words(name).marker("<|end_header_id|>").words("\n\n");
      return;
    case Family::gemma:
      out.marker("<start_of_turn>").words(fmt::format("{}\n", name));
      return;
    case Family::gemma4:
      out.marker("<|turn>").words(fmt::format("{}\n", name));
      return;
  }
}

void Template::close(Rendered& out) const {
  out.marker(stop_marker());
  if (family_ != Family::llama3) out.words("\n");
}

void Template::say(Rendered& out, std::string_view text) const {
  out.said(family_ == Family::chatml ? text : trimmed(text));
}

void Template::open_answer(Rendered& out, Thinking thinking) const {
  open(out, Role::assistant);
  if (thinking == Thinking::on) return;
  if (family_ == Family::chatml) {
    out.marker("<think>").words("\n\n").marker("</think>").words("\n\n");
  } else if (family_ == Family::gemma4) {
    out.marker("<|channel>").words("thought\n").marker("<channel|>");
  }
}

void Template::system_turn(Rendered& out, std::string_view system) const {
  open(out, Role::system);
  say(out, system);
  close(out);
}

}  // namespace maglio::chat
