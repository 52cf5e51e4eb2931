// maglio template: the prompt that a chat request becomes.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iterator>
#include <memory>
#include <string>

#include "chat/chat_request.h"
#include "chat/chat_template.h"
#include "gguf/reader.h"
#include "maglio/commands.h"
#include "maglio/read_text.h"
#include "maglio/tokenize.h"

namespace maglio::app {
namespace {

struct Arguments {
  std::string model;
  std::string request;
  std::string chat_template = "file";
  bool ids = false;
};

void print_prompt(const Arguments& arguments) {
  const chat::ChatRequest request = chat::parse_chat_request(read_text(arguments.request));
  const gguf::File file = gguf::File::open(arguments.model);
  const auto source = [&](std::string_view key) {
    return std::string(file.metadata().string(key).value_or(""));
  };
  const Tokenizer tokenizer = load_tokenizer(arguments.model);
  const auto chat_template = chat::ChatTemplate::of(
      {source("tokenizer.chat_template"), source("tokenizer.chat_template.tool_use")}, tokenizer,
      arguments.chat_template);
  const chat::Rendered prompt = chat_template.render(request);
  std::string out;
  if (arguments.ids) {
    for (TokenId id : chat::encode_prompt(tokenizer, chat_template, prompt)) {
      fmt::format_to(std::back_inserter(out), "{}\n", id);
    }
  } else {
    out = prompt.text();
  }
  std::fwrite(out.data(), 1, out.size(), stdout);
}

}  // namespace

void add_template_command(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("template", "Print the prompt that a chat request becomes");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("MODEL", arguments->model, "GGUF file; a vocabulary alone will do")
      ->required();
  command
      ->add_option("--request", arguments->request,
                   "JSON file with messages, tools, add_generation_prompt (true by default) and "
                   "chat_template_kwargs; - is stdin")
      ->required();
  command
      ->add_option("--chat-template", arguments->chat_template,
                   "native, file (the model's own), or a path")
      ->capture_default_str();
  command->add_flag("--ids", arguments->ids,
                    "Print token ids, one a line, as a chat would feed them");
  command->callback([arguments] { print_prompt(*arguments); });
}

}  // namespace maglio::app
