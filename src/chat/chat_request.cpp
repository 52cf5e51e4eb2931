#include "chat/chat_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "base/escaped.h"
#include "chat/json_value.h"
#include "maglio/error.h"

namespace maglio::chat {
namespace {

using jinja::Dict;
using jinja::Origin;
using jinja::Sequence;
using jinja::Value;

// What a template must be able to rely on.
constexpr std::array<std::string_view, 12> kReserved = {"messages",
                                                        "tools",
                                                        "documents",
                                                        "add_generation_prompt",
                                                        "bos_token",
                                                        "eos_token",
                                                        "raise_exception",
                                                        "strftime_now",
                                                        "range",
                                                        "namespace",
                                                        "dict",
                                                        "joiner"};

[[noreturn]] void refuse(std::string code, std::string_view pointer, std::string_view what) {
  throw Error(ErrorKind::bad_request, std::move(code), fmt::format("{}: {}", pointer, what));
}

std::string found(const Value* value) {
  if (!value) return "nothing";
  if (value->is_none()) return "null";
  if (const jinja::Text* text = value->as_string())
    return fmt::format("'{}'", escaped(text->bytes()));
  if (value->is_dict()) return "an object";
  if (value->is_sequence()) return "a list";
  return value->is_boolean() ? "a boolean" : "a number";
}

[[noreturn]] void expected(std::string_view what, std::string_view pointer, const Value* value) {
  refuse("BadChatRequest", pointer, fmt::format("expected {}, found {}", what, found(value)));
}

// A field that may be absent or null, but is of this kind where it is there.
const Value* optional_field(const Dict& dict, std::string_view name) {
  const Value* value = dict.find(name);
  return value && !value->is_none() ? value : nullptr;
}

void check_string(const Dict& dict, std::string_view name, const std::string& pointer) {
  const Value* value = optional_field(dict, name);
  if (value && !value->is_string())
    expected("a string", fmt::format("{}/{}", pointer, name), value);
}

void check_tool_call(const Value& call, const std::string& pointer) {
  if (!call.is_dict()) expected("an object", pointer, &call);
  check_string(*call.as_dict(), "id", pointer);
  const Value* function = call.as_dict()->find("function");
  if (!function || !function->is_dict()) expected("an object", pointer + "/function", function);
  const Value* name = function->as_dict()->find("name");
  if (!name || !name->is_string()) expected("a string", pointer + "/function/name", name);
  const Value* arguments = function->as_dict()->find("arguments");
  if (!arguments || !(arguments->is_string() || arguments->is_dict())) {
    expected("an object, or one as a string", pointer + "/function/arguments", arguments);
  }
}

// True where there is a call.
bool check_tool_calls(const Dict& message, const std::string& pointer) {
  const Value* calls = optional_field(message, "tool_calls");
  if (!calls) return false;
  const Sequence* list = calls->as_sequence();
  if (!list) expected("a list", pointer + "/tool_calls", calls);
  for (size_t i = 0; i < list->items.size(); ++i) {
    check_tool_call(list->items[i], fmt::format("{}/tool_calls/{}", pointer, i));
  }
  return !list->items.empty();
}

Value joined_parts(const Sequence& parts, const std::string& pointer) {
  jinja::Text all;
  for (size_t i = 0; i < parts.items.size(); ++i) {
    const std::string at = fmt::format("{}/{}", pointer, i);
    const Dict* part = parts.items[i].as_dict();
    if (!part) expected("an object", at, &parts.items[i]);
    const Value* type = part->find("type");
    if (!type || !type->is_string()) expected("a string", at + "/type", type);
    if (type->as_string()->bytes() != "text") {
      refuse("UnsupportedContent", at + "/type",
             fmt::format("only parts of type 'text' can be read, found {}", found(type)));
    }
    const Value* text = part->find("text");
    if (!text || !text->is_string()) expected("a string", at + "/text", text);
    all.append(*text->as_string());
  }
  return Value::string(std::move(all));
}

std::string role_of(const Dict& message, const std::string& pointer) {
  const Value* role = message.find("role");
  if (!role || !role->is_string()) expected("a string", pointer + "/role", role);
  const std::string& name = role->as_string()->bytes();
  if (name == "developer") return name;
  try {
    role_from_string(name);
  } catch (const Error&) {
    refuse(
        "UnknownRole", pointer + "/role",
        fmt::format("expected system, developer, user, assistant or tool, found {}", found(role)));
  }
  return name;
}

Value content_of(const Dict& message, bool may_lack, const std::string& pointer) {
  const Value* content = optional_field(message, "content");
  if (!content && may_lack) return Value::string("", Origin::said);
  if (content && content->is_string()) return *content;
  if (content && content->is_sequence()) return joined_parts(*content->as_sequence(), pointer);
  expected("a string or a list of parts", pointer, message.find("content"));
}

Value read_message(const Value& value, const std::string& pointer) {
  const Dict* message = value.as_dict();
  if (!message) expected("an object", pointer, &value);
  const std::string role = role_of(*message, pointer);
  for (const char* name : {"reasoning_content", "tool_call_id", "name"}) {
    check_string(*message, name, pointer);
  }
  const bool calls = check_tool_calls(*message, pointer);
  const bool may_lack =
      role == "assistant" && (calls || optional_field(*message, "reasoning_content"));
  Dict out;
  for (const auto& [key, field] : message->entries()) {
    if (!field.is_none()) out.set(key, field);
  }
  out.set("role", Value::string(role));
  out.set("content", content_of(*message, may_lack, pointer + "/content"));
  return Value::dict(std::move(out), Origin::said);
}

void check_tools(const Sequence& tools) {
  for (size_t i = 0; i < tools.items.size(); ++i) {
    const std::string pointer = fmt::format("/tools/{}", i);
    const Dict* tool = tools.items[i].as_dict();
    if (!tool) expected("an object", pointer, &tools.items[i]);
    const Value* function = tool->find("function");
    if (!function || !function->is_dict()) expected("an object", pointer + "/function", function);
    const Value* name = function->as_dict()->find("name");
    if (!name || !name->is_string()) expected("a string", pointer + "/function/name", name);
  }
}

void read_kwargs(const Dict& body, ChatRequest& request) {
  const Value* kwargs = optional_field(body, "chat_template_kwargs");
  if (!kwargs) return;
  if (!kwargs->is_dict()) expected("an object", "/chat_template_kwargs", kwargs);
  for (const auto& [key, value] : kwargs->as_dict()->entries()) {
    const std::string& name = key.as_string()->bytes();
    if (std::find(kReserved.begin(), kReserved.end(), name) != kReserved.end()) {
      refuse("ReservedTemplateArgument", "/chat_template_kwargs/" + name,
             "this name belongs to the template itself and cannot be set");
    }
    request.kwargs.set(key, value);
  }
}

}  // namespace

Value message_value(const Message& message) {
  const auto said = [](std::string_view text) { return Value::string(text, Origin::said); };
  Dict out;
  out.set("role", Value::string(to_string(message.role)));
  out.set("content", said(message.content));
  if (!message.reasoning_content.empty()) {
    out.set("reasoning_content", said(message.reasoning_content));
  }
  std::vector<Value> calls;
  for (const ToolCall& call : message.tool_calls) {
    Dict function, entry;
    function.set("name", said(call.name));
    function.set("arguments", said(call.arguments));
    if (!call.id.empty()) entry.set("id", said(call.id));
    entry.set("type", said("function"));
    entry.set("function", Value::dict(std::move(function), Origin::said));
    calls.push_back(Value::dict(std::move(entry), Origin::said));
  }
  if (!calls.empty()) out.set("tool_calls", Value::list(std::move(calls), Origin::said));
  if (!message.tool_call_id.empty()) out.set("tool_call_id", said(message.tool_call_id));
  if (!message.name.empty()) out.set("name", said(message.name));
  return Value::dict(std::move(out), Origin::said);
}

std::vector<Value> message_values(std::span<const Message> messages) {
  std::vector<Value> values;
  for (const Message& message : messages) values.push_back(message_value(message));
  return values;
}

ChatRequest chat_request(std::span<const Message> messages, Thinking thinking) {
  ChatRequest request;
  request.messages = message_values(messages);
  request.thinking = thinking;
  return request;
}

Message plain_message(const Value& message) {
  const auto text = [&](std::string_view name) {
    const Value* value = message.as_dict()->find(name);
    return value && value->is_string() ? value->as_string()->bytes() : std::string();
  };
  const std::string role = text("role");
  return {.role = role == "developer" ? Role::system : role_from_string(role),
          .content = text("content"),
          .reasoning_content = text("reasoning_content")};
}

ChatRequest parse_chat_request(std::string_view json) {
  const Value body = parse_json(json);
  const Dict* fields = body.as_dict();
  if (!fields) expected("an object", "/", &body);
  const Value* messages = fields->find("messages");
  const Sequence* list = messages ? messages->as_sequence() : nullptr;
  if (!list) expected("a list of messages", "/messages", messages);
  if (list->items.empty())
    refuse("EmptyMessages", "/messages", "expected at least one, found none");
  ChatRequest request;
  for (size_t i = 0; i < list->items.size(); ++i) {
    request.messages.push_back(read_message(list->items[i], fmt::format("/messages/{}", i)));
  }
  if (const Value* tools = optional_field(*fields, "tools")) {
    if (!tools->is_sequence()) expected("a list", "/tools", tools);
    check_tools(*tools->as_sequence());
    if (!tools->as_sequence()->items.empty()) request.tools = *tools;
  }
  if (const Value* opens = optional_field(*fields, "add_generation_prompt")) {
    if (!opens->is_boolean()) expected("true or false", "/add_generation_prompt", opens);
    request.add_generation_prompt = opens->truthy();
  }
  read_kwargs(*fields, request);
  return request;
}

}  // namespace maglio::chat
