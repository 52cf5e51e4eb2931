#include "maglio/tokenize.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <vector>

#include "gguf/reader.h"
#include "maglio/commands.h"
#include "maglio/error.h"
#include "maglio/read_text.h"
#include "maglio/terminal.h"

namespace maglio::app {
namespace {

std::vector<TokenId> parse_ids(const std::string& text) {
  std::vector<TokenId> ids;
  size_t at = 0;
  const auto skip_gaps = [&] {
    at = std::min(text.find_first_not_of(" ,[]\r\n\t", at), text.size());
  };
  for (skip_gaps(); at < text.size(); skip_gaps()) {
    const size_t end = std::min(text.find_first_of(" ,[]\r\n\t", at), text.size());
    const std::string word = text.substr(at, end - at);
    TokenId id = 0;
    const auto [rest, fault] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (fault != std::errc() || rest != word.data() + word.size()) {
      throw Error(ErrorKind::bad_request, "BadTokenId",
                  fmt::format("'{}' is not a token id", word));
    }
    ids.push_back(id);
    at = end;
  }
  return ids;
}

struct Arguments {
  std::string model;
  std::string text = "-";
  bool plain = false;
  bool no_bos = false;
  bool decode = false;
  bool hide_special = false;
  Tokenizer::Normalization normalization = Tokenizer::Normalization::none;
};

void tokenize(const Arguments& arguments) {
  if (arguments.decode) {
    const std::string bytes = load_tokenizer(arguments.model)
                                  .decode(parse_ids(read_text(arguments.text)),
                                          arguments.hide_special ? Tokenizer::SpecialText::hidden
                                                                 : Tokenizer::SpecialText::shown);
    std::fwrite(bytes.data(), 1, bytes.size(), stdout);
    return;
  }
  print_token_ids(
      arguments.model, arguments.text,
      {.specials = arguments.plain ? Tokenizer::Specials::plain : Tokenizer::Specials::parse,
       .frame = arguments.no_bos ? Tokenizer::Frame::none : Tokenizer::Frame::by_policy,
       .normalization = arguments.normalization});
}

}  // namespace

Tokenizer load_tokenizer(const std::string& model_path) {
  const gguf::File file = gguf::File::open(model_path);
  Tokenizer tokenizer = Tokenizer::from_gguf(file.metadata());
  if (const auto pre = tokenizer.pre_mismatch()) {
    to_stderr(fmt::format(
        "maglio: warning: '{}' asks for the pre-tokenizer '{}', which maglio lacks; it uses "
        "qwen2's rules, so ids may differ from the model's own\n",
        model_path, *pre));
  }
  return tokenizer;
}

void print_token_ids(const std::string& model_path,
                     const std::string& text_path,
                     const Tokenizer::EncodeOptions& options) {
  const Tokenizer tokenizer = load_tokenizer(model_path);
  std::string lines;
  for (TokenId id : tokenizer.encode_with(read_text(text_path), options)) {
    fmt::format_to(std::back_inserter(lines), "{}\n", id);
  }
  std::fwrite(lines.data(), 1, lines.size(), stdout);
}

void add_tokenize_command(CLI::App& app) {
  CLI::App* command = app.add_subcommand("tokenize", "Print the token ids of a text, one a line");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("model", arguments->model, "GGUF file; a vocabulary alone will do")
      ->required();
  command->add_option("text", arguments->text, "Text file, taken byte for byte; - is stdin")
      ->capture_default_str();
  command->add_flag("--no-parse-special", arguments->plain,
                    "Text of control tokens, such as <|im_end|>, stays text");
  command->add_flag("--no-bos", arguments->no_bos, "Add no BOS or EOS, whatever the model says");
  const std::map<std::string, Tokenizer::Normalization> names = {
      {"none", Tokenizer::Normalization::none}, {"nfc", Tokenizer::Normalization::nfc}};
  command
      ->add_option("--normalize", arguments->normalization,
                   "none (as llama.cpp) or nfc (as Hugging Face's tokenizer of Qwen)")
      ->transform(CLI::CheckedTransformer(names));
  command->add_flag("--decode", arguments->decode, "The way back: read ids, print their bytes");
  command->add_flag("--hide-special", arguments->hide_special, "With --decode: no control tokens");
  command->callback([arguments] { tokenize(*arguments); });
}

}  // namespace maglio::app
