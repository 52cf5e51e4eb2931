#include "chat/jinja_template.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "chat/jinja/evaluator.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/print.h"
#include "chat/json_value.h"
#include "maglio/error.h"

namespace maglio::chat {
namespace {

using jinja::Dict;
using jinja::Origin;
using jinja::Value;

// Words that no template says.
constexpr std::string_view kWord = "maglio7probe", kOtherWord = "maglio3probe";
// More than any template of the tests takes for a few short messages.
constexpr jinja::Limits kProbeLimits{.steps = 500'000};

Value said(std::string_view text) {
  return Value::string(text, Origin::said);
}

ChatRequest probe(std::vector<Message> messages) {
  ChatRequest request = chat_request(messages, Thinking::on);
  request.add_generation_prompt = false;
  return request;
}

Value with_field(const Value& message, std::string_view name, Value value) {
  Dict changed = *message.as_dict();
  changed.set(name, std::move(value));
  return Value::dict(std::move(changed), message.origin());
}

// Where a thought begins that the template has opened at the very end.
std::optional<size_t> open_thought(const jinja::Text& prompt) {
  constexpr std::string_view kOpen = "<think>";
  const size_t begin = prompt.bytes().rfind(kOpen);
  if (begin == std::string::npos || prompt.origin(begin) == Origin::said) return std::nullopt;
  const size_t behind = prompt.bytes().find_first_not_of(" \n\t\r", begin + kOpen.size());
  return behind == std::string::npos ? std::optional(begin) : std::nullopt;
}

}  // namespace

JinjaTemplate::JinjaTemplate(std::string_view source, TokenTexts tokens)
    : program_(jinja::parse(source)),
      tokens_(std::move(tokens)),
      knows_developer_(source.find("developer") != source.npos) {
  try_out();
}

jinja::Text JinjaTemplate::render(const ChatRequest& request, std::time_t now) const {
  if (request.messages.empty()) {
    throw Error(ErrorKind::bad_request, "EmptyMessages", "messages: expected at least one");
  }
  const Dict& last = *request.messages.back().as_dict();
  const bool continues = request.add_generation_prompt &&
                         last.find("role")->as_string()->bytes() == "assistant" &&
                         !last.find("tool_calls") && request.messages.size() > 1;
  return continues ? continued(request, now) : run(request, now);
}

// The prompt for the answer, and as much of the answer as there is. A thought that the prompt would
// open is left out: the answer has begun already.
jinja::Text JinjaTemplate::continued(ChatRequest request, std::time_t now) const {
  const Value last = std::move(request.messages.back());
  request.messages.pop_back();
  jinja::Text prompt = run(request, now);
  const Value* reasoning = last.as_dict()->find("reasoning_content");
  if (const auto thought = open_thought(prompt)) prompt = prompt.part(0, *thought);
  if (reasoning && reasoning->is_string() && !reasoning->as_string()->empty()) {
    prompt.append("<think>\n", Origin::trusted).append(*reasoning->as_string());
    prompt.append("\n</think>\n\n", Origin::trusted);
  }
  return prompt.append(*last.as_dict()->find("content")->as_string());
}

jinja::Text JinjaTemplate::run(const ChatRequest& request,
                               std::time_t now,
                               const jinja::Limits& limits) const {
  std::vector<Value> messages;
  for (const Value& message : request.messages) messages.push_back(fitted(message));
  Dict variables;
  variables.set("bos_token", Value::string(tokens_.bos));
  variables.set("eos_token", Value::string(tokens_.eos));
  if (request.thinking == Thinking::off) {  // templates call it one or the other
    variables.set("enable_thinking", Value::boolean(false));
    variables.set("thinking", Value::boolean(false));
  }
  for (const auto& [name, value] : request.kwargs.entries()) variables.set(name, value);
  variables.set("messages", Value::list(std::move(messages)));
  variables.set("tools", request.tools);
  variables.set("documents", Value());
  variables.set("add_generation_prompt", Value::boolean(request.add_generation_prompt));
  return jinja::render(program_, variables, now, limits);
}

Value JinjaTemplate::fitted(const Value& message) const {
  Dict out = *message.as_dict();
  if (!knows_developer_ && out.find("role")->as_string()->bytes() == "developer") {
    out.set("role", Value::string("system"));
  }
  if (content_ == Content::parts) {
    Dict part;
    part.set("type", Value::string("text"));
    part.set("text", *out.find("content"));
    out.set("content", Value::list({Value::dict(std::move(part))}));
  }
  if (const Value* thought = out.find("reasoning_content"); thought && !out.find("thinking")) {
    out.set("thinking", Value(*thought));  // gpt-oss calls it so
  }
  if (const Value* calls = out.find("tool_calls")) out.set("tool_calls", fitted_calls(*calls));
  return Value::dict(std::move(out), message.origin());
}

Value JinjaTemplate::fitted_calls(const Value& calls) const {
  std::vector<Value> out;
  for (const Value& call : calls.as_sequence()->items) {
    const Value& function = *call.as_dict()->find("function");
    const Value arguments = fitted_arguments(*function.as_dict()->find("arguments"));
    out.push_back(with_field(call, "function", with_field(function, "arguments", arguments)));
  }
  return Value::list(std::move(out), calls.origin());
}

// As text where only text is taken, as an object where only that is.
Value JinjaTemplate::fitted_arguments(const Value& arguments) const {
  if (takes_arguments_as_text_ && takes_arguments_as_object_) return arguments;
  if (arguments.is_dict() && takes_arguments_as_text_) {
    jinja::Meter meter({}, 0);
    return Value::string(jinja::to_json(meter, arguments, {}));
  }
  if (arguments.is_string() && takes_arguments_as_object_) {
    try {
      Value object = parse_json(arguments.as_string()->bytes());
      if (object.is_dict()) return object;
    } catch (const Error&) {
      return arguments;  // a model wrote it: what is no JSON stays what it is
    }
  }
  return arguments;
}

bool JinjaTemplate::shows(const ChatRequest& request, std::string_view word) const {
  try {
    return run(request, 0, kProbeLimits).bytes().find(word) != std::string::npos;
  } catch (const Error&) {
    return false;
  }
}

jinja::Text JinjaTemplate::run_probe(std::vector<Message> messages) const {
  return run(probe(std::move(messages)), 0, kProbeLimits);
}

void JinjaTemplate::try_out() {
  const std::string word(kWord);
  const ChatRequest question = probe({{Role::user, word}});
  if (!shows(question, word)) {
    content_ = Content::parts;
    if (!shows(question, word)) content_ = Content::text;
  }
  try_arguments();
  try_system();
  try {
    const jinja::Text closed = run_probe({{Role::user, "x"}, {Role::assistant, word}});
    const size_t at = closed.bytes().rfind(word);
    if (at != std::string::npos) after_answer_ = closed.bytes().substr(at + word.size());
  } catch (const Error&) {
    after_answer_.clear();  // a template may refuse such a talk; end tokens are known without it
  }
}

void JinjaTemplate::try_arguments() {
  const std::string word(kWord), text = fmt::format("{{\"{}\": 1}}", word);
  const auto with_arguments = [&](const Value& arguments) {
    ChatRequest request = probe({{Role::user, "x"},
                                 {Role::assistant, "", {}, {{"call_0001", "f", "{}"}}},
                                 {Role::tool, "y", {}, {}, "call_0001", "f"}});
    Value& message = request.messages[1];
    Dict function, call;
    function.set("name", said("f"));
    function.set("arguments", arguments);
    call.set("id", said("call_0001"));
    call.set("type", said("function"));
    call.set("function", Value::dict(std::move(function), Origin::said));
    message = with_field(message, "tool_calls", Value::list({Value::dict(std::move(call))}));
    return request;
  };
  const bool as_text = shows(with_arguments(said(text)), "\"" + word + "\"");
  const bool as_object = shows(with_arguments(parse_json(text)), word);
  if (!as_text && !as_object) return;  // no form for calls at all
  takes_arguments_as_text_ = as_text;
  takes_arguments_as_object_ = as_object;
}

// Compares what stands before a first question, with a system message and without.
void JinjaTemplate::try_system() {
  const std::string word(kWord), other(kOtherWord);
  try {
    const std::string alone = run_probe({{Role::user, word}}).bytes();
    const std::string both = run_probe({{Role::system, other}, {Role::user, word}}).bytes();
    const size_t system = both.find(other), question = both.find(word);
    if (system == std::string::npos || question == std::string::npos || system > question) return;
    const std::string between =
        both.substr(system + other.size(), question - system - other.size());
    std::string before = alone.substr(0, alone.find(word));
    if (!tokens_.bos.empty() && before.starts_with(tokens_.bos))
      before.erase(0, tokens_.bos.size());
    has_own_system_ = !between.ends_with(before);
  } catch (const Error&) {
    has_own_system_ = false;  // it takes no system message at all
  }
}

}  // namespace maglio::chat
