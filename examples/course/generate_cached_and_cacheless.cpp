// Exercise 3 of the chapter as a program:
//
//   course_generate_cached_and_cacheless MODEL.gguf ["The prompt"]
#include <fmt/format.h>

#include "course/cached_and_cacheless.h"
#include "maglio/error.h"
#include "maglio/model.h"
#include "model/model.h"

int main(int argc, char** argv) {
  constexpr size_t kTokens = 64;
  if (argc < 2) {
    fmt::print(stderr, "usage: {} MODEL.gguf [PROMPT]\n", argv[0]);
    return 2;
  }
  try {
    const maglio::Model model = maglio::Model::load(argv[1]);
    const auto prompt = model.tokenizer().encode(argc > 2 ? argv[2] : "Once upon a time");
    const auto result =
        maglio::course::generate_both_ways(model.parts().transformer, prompt, kTokens);
    fmt::print("{}\n", model.tokenizer().decode(result.cached));
    fmt::print("with the cache    {:6.2f} s\nwithout           {:6.2f} s, {:.1f} times as long\n",
               result.cached_s, result.cacheless_s, result.cacheless_s / result.cached_s);
    fmt::print("the same tokens:  {}\n", result.cached == result.cacheless ? "yes" : "NO");
    return result.cached == result.cacheless ? 0 : 1;
  } catch (const maglio::Error& error) {
    fmt::print(stderr, "{}\n", error.message());
    return 1;
  }
}
