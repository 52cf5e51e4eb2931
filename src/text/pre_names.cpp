#include "text/pre_names.h"

#include <initializer_list>

namespace maglio {
namespace {

struct Group {
  PreTokenizer pre;
  std::initializer_list<std::string_view> names;
};

// The names that llama.cpp (of llama-cpp-python 0.3.36) maps to the same rules. Left out on purpose
// although they share the regular expression: names whose special tokens strip spaces.
// clang-format off
const std::initializer_list<Group> kGroups = {
    {{.rules = PreRules::qwen2},
     {"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan",
      "solar-open", "grok-2"}},
    {{.rules = PreRules::llama_bpe, .whole_words = true, .add_bos = true},
     {"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
      "jina-v5-nano"}},
    {{.rules = PreRules::llama_bpe}, {"dbrx", "smaug-bpe", "chatglm-bpe"}},
    {{.rules = PreRules::llama_bpe, .whole_words = true}, {"glm4", "glm5"}},
    {{.rules = PreRules::gpt2},
     {"gpt-2", "phi-2", "jina-es", "jina-de", "gigachat", "a.x-4.0", "mellum", "exaone4", "mpt",
      "olmo", "jais", "trillion", "granite-docling"}},
    {{.rules = PreRules::smollm},
     {"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b",
      "mellum2"}},
    {{.rules = PreRules::standard}, {"default", ""}},
};
// clang-format on

}  // namespace

std::optional<PreTokenizer> find_pre_tokenizer(std::string_view name) {
  for (const Group& group : kGroups) {
    for (std::string_view known : group.names) {
      if (known == name) return group.pre;
    }
  }
  return std::nullopt;
}

}  // namespace maglio
