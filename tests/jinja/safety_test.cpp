// Hostile templates: each ends in an error, by its steps, its depth or the size of a text, and
// never by a clock. The same tests run under AddressSanitizer and UndefinedBehaviorSanitizer (make
// asan).
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "chat/jinja/evaluator.h"
#include "chat/jinja/parser.h"
#include "chat/jinja/python_text.h"
#include "chat/json_value.h"
#include "maglio/error.h"

namespace maglio::jinja {
namespace {

std::string code_of(std::string_view source,
                    std::string_view variables = "{}",
                    const Limits& limits = {}) {
  try {
    render(parse(source), *chat::parse_json(variables).as_dict(), 0, limits);
  } catch (const Error& error) {
    return error.code();
  }
  return "none";
}

// With a fifth of the steps: what goes on for hours shows it as well, and sooner.
std::string code_soon(std::string_view source, std::string_view variables = "{}") {
  return code_of(source, variables, {.steps = Limits().steps / 5});
}

std::string repeated(std::string_view text, size_t n) {
  std::string all;
  for (size_t i = 0; i < n; ++i) all += text;
  return all;
}

TEST(JinjaSafety, TemplatesThatLoopForEverEndByTheirSteps) {
  const std::string round = "{% for i in range(100000) %}";
  EXPECT_EQ(code_of(round + round + round + "{% endfor %}{% endfor %}{% endfor %}"),
            "TemplateLimit");
  EXPECT_EQ(code_of("{% set ns = namespace(s='') %}" + round + round +
                    "{% set ns.s = ns.s ~ 'x' %}{% endfor %}{% endfor %}"),
            "TemplateLimit");
  EXPECT_EQ(code_of("{% set ns = namespace(l=[]) %}" + round + round +
                    "{% set ns.l = ns.l + [1] %}{% endfor %}{% endfor %}"),
            "TemplateLimit");
  EXPECT_EQ(code_of("{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{% for i in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}"),
            "TemplateLimit");
}

TEST(JinjaSafety, TheLeastIntegerOverflowsNothing) {
  const std::string least = "{% set n = -170141183460469231731687303715884105727 - 1 %}";  // -2^127
  EXPECT_NE(code_of(least + "{{ '%x' % n }}"), "none");
  EXPECT_EQ(code_of(least + "{{ 'abc'.center(n) }}"), "none");
  EXPECT_NE(code_of(least + "{{ n|round(-1) }}"), "none");
}

// Each would be done after hours, or after gigabytes, if it cost what its nodes cost.
TEST(JinjaSafety, WhatWorksOnLongTextsCostsStepsForThem) {
  const std::string big = "{% set big = 'a' * 16000000 %}", round = "{% for i in range(100000) %}";
  EXPECT_EQ(code_soon(big + round + "{% if big is upper %}{% endif %}{% endfor %}"),
            "TemplateLimit");
  EXPECT_EQ(code_soon(big + round + "{{ '%.1s' % big }}{% endfor %}"), "TemplateLimit");
  EXPECT_EQ(code_soon(big + round + "{{ '{:.1}'.format(big) }}{% endfor %}"), "TemplateLimit");
  EXPECT_EQ(code_soon(big + "{{ ([big] * 100000)|join|length }}"), "TemplateLimit");
  EXPECT_EQ(code_soon(big + "{{ ''.join([big] * 100000) }}"), "TemplateLimit");
  EXPECT_EQ(code_soon(big + "{{ " + repeated("big ~ ", 1000) + "'' }}"), "TemplateLimit");
  EXPECT_EQ(code_soon(big + "{{ big|replace('a', 'bb') }}"), "TemplateLimit");
  EXPECT_EQ(code_soon(big + "{{ big.split('a')|length }}"), "TemplateLimit");
  EXPECT_EQ(code_soon("{{ ('\n' * 16000000).splitlines()|length }}"), "TemplateLimit");
  EXPECT_EQ(code_soon("{{ ('\n' * 16000000)|indent }}"), "TemplateLimit");
  EXPECT_EQ(code_soon("{{ ('a ' * 8000000).rsplit(none, 1000000)|length }}"), "TemplateLimit");
  EXPECT_EQ(code_soon("{{ ('a' * 8000000).rfind('a' * 4000000 ~ 'b') }}"), "TemplateLimit");
  for (const char* filter : {"select('upper')", "sort", "unique", "max"}) {
    EXPECT_EQ(code_soon(big + "{{ ([big] * 100000)|" + filter + "|list|length }}"), "TemplateLimit")
        << filter;
  }
  EXPECT_EQ(code_soon("{% set many = ['b'] * 1000000 %}" + round +
                      "{{ 'a'.startswith(many) }}{% endfor %}"),
            "TemplateLimit");
}

TEST(JinjaSafety, NamesCostTheWayToThem) {
  const std::string round = "{% for i in range(100000) %}";
  EXPECT_EQ(code_of(round + "{{ x }}{% endfor %}"), "none");
  EXPECT_EQ(code_soon(repeated("{% with %}", 200) + round + "{{ x }}{% endfor %}" +
                      repeated("{% endwith %}", 200)),
            "TemplateLimit");
  EXPECT_EQ(code_soon(round + "{{ " + std::string(10'000, 'x') + " }}{% endfor %}"),
            "TemplateLimit");
  std::string many = "{\"many\": {\"a\": 0";
  for (int i = 0; i < 4000; ++i) many += ", \"n" + std::to_string(i) + "\": 0";
  many += "}}";
  const std::string space = "{% set s = namespace(**many) %}";
  EXPECT_EQ(code_of(space + "{{ s.n3999 }}", many), "none");
  EXPECT_EQ(code_soon(space + round + "{{ s.zz }}{% endfor %}", many), "TemplateLimit");
  EXPECT_EQ(code_soon(space + round + "{% set s.n3999 = 1 %}{% endfor %}", many), "TemplateLimit");
  std::string takes = "{% macro m(a";
  for (int i = 0; i < 200; ++i) takes += ", p" + std::to_string(i) + "=0";
  takes +=
      ") %}{% if kwargs %}{% endif %}{% endmacro %}{% for i in range(200) %}{% set x = m(**many) "
      "%}{% endfor %}";
  EXPECT_EQ(code_soon(takes, many), "TemplateLimit");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Bytes of private memory that this process may have: what it has, and so many more.
void allow_more_memory(size_t bytes) {
  std::ifstream file("/proc/self/statm");
  size_t pages[6] = {};
  for (size_t& n : pages) file >> n;
  const rlim_t limit = pages[5] * static_cast<size_t>(::sysconf(_SC_PAGESIZE)) + bytes;
  const rlimit data{limit, limit};
  ::setrlimit(RLIMIT_DATA, &data);
}

// A table of where 16 million characters begin has 128 MB.
TEST(JinjaSafety, PartsOfALongTextNeedNoTableOfItsCharacters) {
  for (const char* slice : {"[1:]", "[::-1]", "[::2]", "[5]"}) {
    const std::string source =
        "{% set big = 'a' * 16000000 %}{{ big" + std::string(slice) + "|length }}";
    EXPECT_EXIT(
        {
          allow_more_memory(170u << 20);
          std::_Exit(code_of(source) == "none" ? 0 : 1);
        },
        testing::ExitedWithCode(0), "")
        << slice;
  }
}
#endif

// These take a moment, not hours: their work grows with the sum of what they are given.
TEST(JinjaSafety, SearchesOfLongTextsAreDoneAtOnce) {
  EXPECT_EQ(code_of("{{ ('a' * 8000000).find('a' * 4000000 ~ 'b') }}"), "none");
  EXPECT_EQ(code_of("{{ ('a' * 4000000 ~ 'b') in ('a' * 8000000) }}"), "none");
  EXPECT_EQ(code_of("{{ ('a' * 2000000)|trim('b' * 2000000 ~ 'a') }}"), "none");
  EXPECT_EQ(code_of("{% set big = 'a' * 8000000 %}{% set u = [][big] %}{% for i in range(100000) "
                    "%}{% set v = [u, u, u, u] %}{% endfor %}"),
            "none");
}

TEST(JinjaSafety, SearchesFindAPartWhereverItLies) {
  for (size_t before = 0; before < 1100; ++before) {
    const std::string text = repeated("a", before) + "bcd", tail = text + repeated("ab", 600);
    EXPECT_EQ(find_first(text, "bcd", 0), before);
    EXPECT_EQ(find_first(tail, "bcd", before / 2), before);
    EXPECT_EQ(find_first(tail, "bcd", before + 1), std::string::npos);
  }
}

TEST(JinjaSafety, RangesAreShort) {
  EXPECT_EQ(code_of("{{ range(10**12) }}"), "TemplateError");
  EXPECT_EQ(code_of("{{ range(0 - 10**30, 10**30)|length }}"), "TemplateError");
  EXPECT_EQ(code_of("{{ range(0, 10**30, 10**29)|length }}"), "none");
}

TEST(JinjaSafety, TextsAndListsThatDoubleEndByTheirSize) {
  const std::string many = "{% for i in range(1000) %}";
  EXPECT_EQ(
      code_soon("{% set n = namespace(s='ab') %}" + many + "{% set n.s = n.s ~ n.s %}{% endfor %}"),
      "TemplateLimit");
  EXPECT_EQ(
      code_soon("{% set n = namespace(s=[1]) %}" + many + "{% set n.s = n.s + n.s %}{% endfor %}"),
      "TemplateLimit");
  EXPECT_EQ(
      code_soon("{% set n = namespace(s=[1]) %}" + many + "{% set n.s = [n.s, n.s] %}{% endfor %}"),
      "TemplateLimit");
  EXPECT_EQ(
      code_soon("{% set n = namespace(s=[1]) %}{% for i in range(100) %}{% set n.s = [n.s, n.s] %}"
                "{% endfor %}{{ n.s }}"),
      "TemplateLimit");
  EXPECT_EQ(
      code_soon(
          "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(100) %}{% set n.a = [n.a, n.a] "
          "%}{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}"),
      "TemplateLimit");
  for (const char* source :
       {"{{ 'x' * 10**12 }}", "{{ [1] * 10**12 }}", "{{ 'x'|center(10**9) }}",
        "{{ 'x'.ljust(10**12) }}", "{{ 'a\\nb'|indent(10**9) }}", "{{ [1]|tojson(indent=10**9) }}",
        "{{ ('x' * 10**6).replace('', 'y' * 10**6) }}",
        "{{ ('a' * 10**6).replace('a', 'b' * 10**6) }}", "{{ (['x'] * 10**6)|join('y' * 10**6) }}",
        "{{ [1]|batch(10**12, 0)|list }}", "{{ [1]|slice(10**12)|list }}"}) {
    EXPECT_EQ(code_soon(source), "TemplateLimit") << source;
  }
  for (const char* source :
       {"{{ '%999999999d' % 1 }}", "{{ '{:999999999}'.format(1) }}", "{{ 2 ** (10 ** 9) }}"}) {
    EXPECT_EQ(code_soon(source), "TemplateError") << source;
  }
}

TEST(JinjaSafety, WhatNestsTenThousandDeepIsRefused) {
  constexpr size_t kDeep = 10'000;
  const auto wrapped = [&](std::string_view open, std::string_view inner, std::string_view close) {
    return repeated(open, kDeep) + std::string(inner) + repeated(close, kDeep);
  };
  EXPECT_EQ(code_of("{{ " + wrapped("(", "1", ")") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("[", "", "]") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("{1: ", "1", "}") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("f(", "", ")") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("x[", "1", "]") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("not ", "1", "") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("- ", "1", "") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ 1" + repeated(" + 1", kDeep) + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ x" + repeated(".x", kDeep) + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ x" + repeated("|trim", kDeep) + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ 1" + repeated(" if 1 else 1", kDeep) + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of("{{ " + wrapped("1 if (", "1", ")") + " }}"), "TemplateLimit");
  EXPECT_EQ(code_of(wrapped("{% if 1 %}", "", "{% endif %}")), "TemplateLimit");
  EXPECT_EQ(code_of(wrapped("{% for x in y %}", "", "{% endfor %}")), "TemplateLimit");
  EXPECT_EQ(code_of(wrapped("{% set x %}", "", "{% endset %}")), "TemplateLimit");
  EXPECT_EQ(code_of("{% for " + wrapped("(", "x", ")") + " in y %}{% endfor %}"), "TemplateLimit");
  EXPECT_EQ(code_of("{% if 0 %}" + repeated("{% elif 0 %}", kDeep) + "{% endif %}"), "none");
  EXPECT_EQ(code_of("{{ 1" + repeated(" ~ 1", kDeep) + " }}"), "none");
  EXPECT_EQ(
      code_of("{{ '" + repeated("{", kDeep) + repeated("}", kDeep) + "x{:{:{}}}'.format(1) }}"),
      "TemplateError");
}

TEST(JinjaSafety, DeepValuesAreRefused) {
  EXPECT_EQ(code_of("{% set n = namespace(x=[]) %}{% for i in range(10000) %}{% set n.x = [n.x] "
                    "%}{% endfor %}"),
            "TemplateLimit");
  EXPECT_EQ(
      code_of(
          "{% set n = namespace(x={}) %}{% for i in range(10000) %}{% set n.x = {'a': n.x.get} %}"
          "{% endfor %}"),
      "TemplateLimit");
  EXPECT_EQ(code_of("{% set n = namespace() %}{% set n.n = n %}{{ n }}"), "TemplateLimit");
  EXPECT_EQ(code_of("", "{\"a\": " + repeated("[", 10'000) + repeated("]", 10'000) + "}"),
            "BadJson");
  EXPECT_EQ(code_of("{{ a|tojson }}", "{\"a\": " + repeated("[", 100) + repeated("]", 100) + "}"),
            "none");
}

TEST(JinjaSafety, WhatOutlivesItsLoopStaysWhole) {
  EXPECT_EQ(code_of("{% set n = namespace() %}{% for i in [1, 2] %}{% set n.l = loop %}{% set n.c "
                    "= loop.cycle %}"
                    "{% macro m() %}{{ i }}{% endmacro %}{% set n.m = m %}{% endfor %}{{ "
                    "n.l.length }}{{ n.c(1, 2) }}"
                    "{{ n.m() }}"),
            "none");
  EXPECT_EQ(code_of("{% set n = namespace() %}{% for i in [1] %}{% for j in [[]] recursive %}{% "
                    "set n.l = loop %}"
                    "{% endfor %}{% endfor %}{{ n.l([1]) }}"),
            "none");
}

// Real templates, a little wrong: whatever is cut, doubled, swapped or overwritten, parsing and
// rendering end in a text or an Error.
TEST(JinjaSafety, MutatedTemplatesNeverCrash) {
  std::vector<std::string> sources = {
      "{%- set ns = namespace(x=[]) -%}{% macro m(a, b='c') %}{{ a|tojson(indent=2) }}{{ caller() "
      "}}{% endmacro %}"
      "{% for m_ in messages if m_.role != 'x' recursive %}{{ loop.index0 ~ m_.content[1:-1:2] "
      "}}{% call m(1, b=2) %}"
      "{{ '%s' % (m_['role'],) }}{% endcall %}{% else %}{% break %}{% endfor %}{# c #}{% raw "
      "%}{{{% endraw %}",
  };
  const std::filesystem::path folder = MAGLIO_SOURCE_DIR "/models/templates";
  if (std::filesystem::exists(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream file(entry.path(), std::ios::binary);
      sources.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    std::sort(sources.begin(), sources.end());
  }
  const Value variables = chat::parse_json(
      R"({"messages": [{"role": "user", "content": "Hé{{"}, {"role": "assistant", "content": "x", "tool_calls": [
          {"function": {"name": "f", "arguments": {"a": 1.5}}}]}, {"role": "tool", "content": "1"}], "tools": [
          {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {"a": {}}}}}],
          "add_generation_prompt": true, "bos_token": "<s>", "eos_token": "</s>"})");
  const std::string_view pieces[] = {"{{", "}}",  "{%",   "%}",   "-",   "|",           "(", ")",
                                     "[",  "]",   "'",    "\"",   "\\x", ":",           "*", "**",
                                     "is", "not", "loop", "\xff", "~",   "{% endfor %}"};
  constexpr int kRounds = 3000;
  const Limits limits{.steps = 100'000, .depth = 1000, .text_bytes = 1 << 20};
  std::mt19937 random(2026);
  int n_rendered = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string source = sources[random() % sources.size()];
    for (size_t n = random() % 4; n > 0; --n) {
      const size_t at = random() % source.size(), size = random() % 40;
      switch (random() % 4) {
        case 0:
          source.erase(at, size);
          break;
        case 1:
          source.insert(at, source.substr(random() % source.size(), size));
          break;
        case 2:
          source.insert(at, pieces[random() % std::size(pieces)]);
          break;
        default:
          source[at] = static_cast<char>(random());
      }
      if (source.empty()) source = "x";
    }
    try {
      render(parse(source), *variables.as_dict(), 0, limits);
      ++n_rendered;
    } catch (const Error& error) {
      ASSERT_TRUE(error.code().starts_with("Template")) << error.code();
    }
  }
  EXPECT_GT(n_rendered, sources.size() > 1 ? kRounds / 20 : 0);
}

}  // namespace
}  // namespace maglio::jinja
