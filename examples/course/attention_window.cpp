// Exercise 5 of the chapter as a program:
//
//   course_attention_window MODEL.gguf TEXT.txt
#include "course/attention_window.h"

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "gguf/reader.h"
#include "maglio/error.h"
#include "maglio/tokenizer.h"

int main(int argc, char** argv) {
  if (argc != 3) {
    fmt::print(stderr, "usage: {} MODEL.gguf TEXT.txt\n", argv[0]);
    return 2;
  }
  try {
    std::stringstream text;
    text << std::ifstream(argv[2]).rdbuf();
    const auto tokenizer =
        maglio::Tokenizer::from_gguf(maglio::gguf::File::open(argv[1]).metadata());
    const auto prompt = tokenizer.encode(text.str());
    const size_t windows[] = {1, 4, 16, 64, 128, 256, 512, prompt.size()};
    const auto load = [&](size_t window) {
      return maglio::Transformer::load(argv[1], {.attn_window = window});
    };
    fmt::print("{} tokens\n| window | relative rms |\n|---|---|\n", prompt.size());
    for (const auto& [window, error] : maglio::course::measure_windows(load, prompt, windows)) {
      fmt::print("| {} | {:.4f} |\n", window, error);
    }
    return 0;
  } catch (const maglio::Error& error) {
    fmt::print(stderr, "{}\n", error.message());
    return 1;
  }
}
