// The evaluator on small templates. Every expected text is what Python's jinja2 3.1.6 renders.
#include "chat/jinja/evaluator.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "chat/jinja/parser.h"
#include "chat/json_value.h"
#include "maglio/error.h"

namespace maglio::jinja {
namespace {

constexpr std::time_t kNow = 1753700000;  // 2025-07-28 10:53:20 UTC

Text render_text(std::string_view source, std::string_view variables = "{}") {
  return render(parse(source), *chat::parse_json(variables).as_dict(), kNow);
}
std::string rendered(std::string_view source, std::string_view variables = "{}") {
  return render_text(source, variables).bytes();
}

std::pair<std::string, std::string> error_of(std::string_view source,
                                             std::string_view variables = "{}") {
  try {
    rendered(source, variables);
  } catch (const Error& error) {
    return {error.code(), error.message()};
  }
  return {"none", ""};
}

// Bytes of the text that a user said, as '^', the others as '.'.
std::string origins(std::string_view source, std::string_view variables) {
  const Text text = render_text(source, variables);
  std::string marks;
  for (size_t i = 0; i < text.size(); ++i) marks += text.origin(i) == Origin::said ? '^' : '.';
  return marks;
}

TEST(Jinja, WhatAUserNamedStaysHis) {
  const std::string user = R"({"d": {"k": 1}, "s": "ab"})";
  EXPECT_EQ(origins("{% for k in dict(**d) %}{{ k }}{% endfor %}", user), "^");
  EXPECT_EQ(origins("{% macro m() %}{% for k in kwargs %}{{ k }}{% endfor %}{% endmacro %}"
                    "{{ m(**d) }}",
                    user),
            "^");
  EXPECT_EQ(origins("{{ namespace(**d) }}", user), "............^^^..^..");
  EXPECT_EQ(origins("{{ strftime_now(s) }}", user), "^^");
  EXPECT_EQ(origins("{{ [1, 2]|tojson(separators=(s, ':')) }}", user), "..^^..");
  EXPECT_EQ(origins("{{ [1]|tojson(indent=s) }}", user), "..^^...");
  EXPECT_EQ(origins("{{ '{:{}>3}'.format('x', s[0]) }}", user), "^^.");
  EXPECT_EQ(origins("{{ '{:{}=3}'.format(1, s[0]) }}", user), "^^^");
}

TEST(Jinja, BlocksTakeTheirLineFeedAndTheBlanksBefore) {
  EXPECT_EQ(rendered("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(rendered("a \n {%- if true -%}\n b \n{%- endif %} c"), "ab c");
  EXPECT_EQ(rendered("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(rendered("a {# note #}\n  b {#- note -#}  c"), "a   bc");
  EXPECT_EQ(rendered("{{ 1 }}\n  {{- 2 -}}  \n3\r\n\n"), "123\n");
  EXPECT_EQ(rendered("{% raw %}{{ x }}{% y %}{% endraw %}!"), "{{ x }}{% y %}!");
}

TEST(Jinja, NumbersAreCalculatedAsInPython) {
  EXPECT_EQ(
      rendered("{{ -7 // 2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 2 ** 10 }}"),
      "-4 2 -2 3.5 3.0 1024");
  EXPECT_EQ(rendered("{{ 1e3 }} {{ 1e16 }} {{ 0.1 + 0.2 }} {{ 1.0 }} {{ 1e-5 }} {{ 5 // 2.0 }}"),
            "1000.0 1e+16 0.30000000000000004 1.0 1e-05 2.0");
  EXPECT_EQ(rendered("{{ 0x1F }} {{ 1_000 }} {{ true + 1 }} {{ 2.5|round }} {{ 42.55|round(1) }}"),
            "31 1000 2 2.0 42.5");
  EXPECT_EQ(rendered("{{ '42.7'|int }} {{ 'x'|int(5) }} {{ '1e2'|float }} {{ -3|abs }}"),
            "42 5 100.0 3");
  EXPECT_EQ(error_of("{{ 1 // 0 }}").first, "TemplateError");
}

TEST(Jinja, NumbersAreKeysAsWhatTheyAreWorth) {
  EXPECT_EQ(
      rendered("{% set d = {0.1: 'a', 0.10000001: 'b', 1: 'c', 1.0: 'd', 9007199254740993: 'e', "
               "9007199254740992.0: 'f'} %}{{ d }}{{ d[true] }}"),
      "{0.1: 'a', 0.10000001: 'b', 1: 'd', 9007199254740993: 'e', "
      "9007199254740992.0: 'f'}d");
  EXPECT_EQ(
      rendered("{{ {1e-9: 1}[1e-10] is defined }}{{ 9007199254740993 == 9007199254740992.0 }}"),
      "FalseFalse");
}

TEST(Jinja, WholeNumbersThatDoNotFitAreRefusedNotZero) {
  EXPECT_EQ(rendered("{{ '-170141183460469231731687303715884105728'|int }}"),
            "-170141183460469231731687303715884105728");
  for (const char* source : {"{{ '1234567890123456789012345678901234567890123456'|int }}",
                             "{{ '170141183460469231731687303715884105728'|int }}",
                             "{{ '1e40'|int }}", "{{ 1e40|int }}"}) {
    const auto [code, message] = error_of(source);
    EXPECT_EQ(code, "TemplateError") << source;
    EXPECT_NE(message.find("does not fit 128 bits"), std::string::npos) << message;
  }
  // As jinja2 3.1.6; 3.1.2 refuses infinity, and the oracle may be either.
  EXPECT_EQ(rendered("{{ 'inf'|int(7) }}{{ ('1' * 4301)|int(8) }}{{ '1e999'|int(9) }}"), "789");
}

TEST(Jinja, ValuesPrintAsInPython) {
  EXPECT_EQ(rendered("{{ [1, 'a', \"it's\", none, true, 1.5, {'k': (1,)}] }}"),
            "[1, 'a', \"it's\", None, True, 1.5, {'k': (1,)}]");
  EXPECT_EQ(rendered("{{ ['\\n\\x01é\\u200b'] }}"), "['\\n\\x01é\\u200b']");
  EXPECT_EQ(rendered("{{ none }}{{ missing }}{{ true }}"), "NoneTrue");
  EXPECT_EQ(rendered("{{ 'a' ~ 1 ~ none ~ [2] }}"), "a1None[2]");
}

TEST(Jinja, JsonLooksLikePythons_B48) {
  const char* const value =
      R"({"v": {"z": [], "a": {}, "f": 1e3, "g": 1.0, "h": 0.1, "t": true, "n": null, "s": "it's <b>/é\"\\\n\u0001", "big": 18446744073709551615}})";
  EXPECT_EQ(rendered("{{ v|tojson }}", value),
            R"({"z": [], "a": {}, "f": 1000.0, "g": 1.0, "h": 0.1, "t": true, "n": null, )"
            "\"s\": \"it's <b>/é\\\"\\\\\\n\\u0001\", \"big\": 18446744073709551615}");
  EXPECT_EQ(rendered("{{ [1, {'b': 2, 'a': []}]|tojson(indent=2) }}"),
            "[\n  1,\n  {\n    \"b\": 2,\n    \"a\": []\n  }\n]");
  EXPECT_EQ(rendered("{{ {'b': 1, 'a': 'é😀'}|tojson(sort_keys=true, ensure_ascii=true) }}"),
            R"({"a": "\u00e9\ud83d\ude00", "b": 1})");
  EXPECT_EQ(rendered("{{ [1, 2]|tojson(separators=(',', ':')) }}"), "[1,2]");
  EXPECT_EQ(error_of("{{ missing|tojson }}").first, "TemplateError");
}

TEST(Jinja, ScopesAreThoseOfBlocks) {
  EXPECT_EQ(rendered("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}"
                     "{{ x }}{% if true %}{% set x = 7 %}{% endif %}{{ x }}"),
            "151517");
  EXPECT_EQ(rendered("{% set ns = namespace(n=0) %}{% for i in range(4) %}{% set ns.n = ns.n + i %}"
                     "{% endfor %}{{ ns.n }}"),
            "6");
  EXPECT_EQ(rendered("{% with a = 1, b = 2 %}{{ a + b }}{% endwith %}{{ a }}"), "3");
  EXPECT_EQ(
      rendered("{% set t %} a {{ 1 }}{% endset %}[{{ t }}]{% set u | trim | upper %} b {% endset "
               "%}{{ u }}"),
      "[ a 1]B");
}

TEST(Jinja, LoopsKnowWhereTheyAre) {
  EXPECT_EQ(
      rendered(
          "{% for x in 'abc' %}{{ loop.index }}{{ loop.revindex0 }}{{ loop.first }}"
          "{{ loop.previtem }}{{ x }}{{ loop.nextitem }}{{ loop.cycle('-', '+') }} {% endfor %}"),
      "12Trueab- 21Falseabc+ 30Falsebc- ");
  EXPECT_EQ(
      rendered(
          "{% for k, v in {'a': 1, 'b': 2}.items() if v > 1 %}{{ k }}{% else %}none{% endfor %}"),
      "b");
  EXPECT_EQ(
      rendered("{% for i in range(9) %}{% if i == 1 %}{% continue %}{% endif %}{% if i > 3 %}"
               "{% break %}{% endif %}{{ i }}{% endfor %}{% for i in [] %}{% else %}!{% endfor %}"),
      "023!");
  EXPECT_EQ(
      rendered("{% for n in t recursive %}{{ loop.depth }}{{ n.v }}{{ loop(n.c) }}{% endfor %}",
               R"({"t": [{"v": "a", "c": [{"v": "b", "c": []}]}, {"v": "d", "c": []}]})"),
      "1a2b1d");
}

TEST(Jinja, MacrosTakeDefaultsNamesAndCallers) {
  EXPECT_EQ(
      rendered("{% macro m(a, b=a ~ '!') %}[{{ a }}{{ b }}{{ c }}]{% endmacro %}{% set c = 3 %}"
               "{{ m(1) }}{{ m(b=2, a=1) }}{{ m() }}"),
      "[11!3][123][!3]");
  EXPECT_EQ(rendered("{% macro m() %}<{{ caller('x') }}>{% endmacro %}{% call(y) m() %}{{ y }}y"
                     "{% endcall %}"),
            "<xy>");
  EXPECT_EQ(rendered("{% macro m(a) %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1, 2, k=3) }}"),
            "(2,){'k': 3}");
  EXPECT_EQ(rendered("{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}"
                     "{{ f(3) }}"),
            "3210");
  EXPECT_EQ(error_of("{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}").first, "TemplateError");
}

TEST(Jinja, SlicesAndMethodsOfStrings) {
  EXPECT_EQ(rendered("{{ 'héllo'[::-1] }} {{ 'héllo'[1:-1] }} {{ 'abc'[5:] }}{{ [1, 2, 3][-2:] }} "
                     "{{ 'abcdef'[::2] }}"),
            "olléh éll [2, 3] ace");
  EXPECT_EQ(rendered("{{ ' x '.strip() }}{{ 'xxaxx'.strip('x') }}{{ 'a,b,c'.split(',', 1) }}"
                     "{{ ' a  b '.split() }}{{ 'a-b-c'.rsplit('-', 1)[0] }}"),
            "xa['a', 'b,c']['a', 'b']a-b");
  EXPECT_EQ(rendered("{{ 'aXb'.lower() }}{{ 'they\\'re'.title() }}{{ 'a\\nb\\n'.splitlines() }}"
                     "{{ 'abc'.find('c') }}{{ 'aaa'.replace('a', 'b', 2) }}{{ 'ß'.upper() }}"),
            "axbThey'Re['a', 'b']2bbaSS");
  EXPECT_EQ(
      rendered("{{ 'x'.startswith(('y', 'x')) }}{{ '-'.join(['a', 'b']) }}{{ 'a'.center(4, '*') }}"
               "{{ 'ab'.partition('b') }}{{ 'ab'.removesuffix('b') }}"),
      "Truea-b*a**('a', 'b', '')a");
}

TEST(Jinja, SlicesTakeCharactersWholeInBothDirections) {
  const std::string text = R"({"s": "a\u00f1b\u20accd\ud83d\ude00"})";  // of 1 to 4 bytes
  EXPECT_EQ(
      rendered("{{ s[::-1] }} {{ s[5:1:-2] }} {{ s[1:7:2] }} {{ s[-1:-9:-3] }} {{ s[3:] }}", text),
      "😀dc€bña d€ ñ€d 😀€a €cd😀");
  EXPECT_EQ(rendered("{{ l[::-1] }}{{ l[9:0:-2] }}{{ l[-9:2] }}", R"({"l": [0, 1, 2, 3]})"),
            "[3, 2, 1, 0][3, 1][0, 1]");
  EXPECT_EQ(origins("{{ ('^^' ~ s)[::-1] }}", R"({"s": "\u20ac"})"), "^^^..");
}

TEST(Jinja, CasesOfLetters) {
  EXPECT_EQ(rendered("{{ 'Éa b-c1d'.title() }} {{ 'éCOLE x'.capitalize() }} {{ 'x1Éy'|upper }} {{ "
                     "'AÉ'|lower }}"),
            "Éa B-C1D École x X1ÉY aé");
  EXPECT_EQ(
      rendered("{{ 'AÉ1' is upper }} {{ 'AÉb' is upper }} {{ 'éa' is lower }} {{ 'éA' is lower }} "
               "{{ '12' is upper }} {{ 'ß'.islower() }} {{ 'É'.islower() }} {{ none is upper }}"),
      "True False True False False True False False");
}

TEST(Jinja, FormatsBothWays) {
  EXPECT_EQ(rendered("{{ '%s|%5.2f|%-4d|%03d|%%|%r' % ('a', 3.14159, 7, 5, 'q') }}"),
            "a| 3.14|7   |005|%|'q'");
  EXPECT_EQ(rendered("{{ '%(a)s' % {'a': 1} }}{{ '%s'|format('x') }}"), "1x");
  EXPECT_EQ(
      rendered("{{ '{}-{1}'.format('a', 'b') if false else '{0}-{1:>4}|{n:,}|{x!r}'.format('a', "
               "'b', n=12345, x='q') }}"),
      "a-   b|12,345|'q'");
  EXPECT_EQ(error_of("{{ '%d' % 'x' }}").first, "TemplateError");
}

TEST(Jinja, FiltersGoThroughItems) {
  const char* const people =
      R"({"p": [{"n": "b", "a": 2}, {"n": "A", "a": 1}, {"n": "c", "a": 2}]})";
  EXPECT_EQ(
      rendered(
          "{{ p|map(attribute='n')|join(', ') }} {{ p|selectattr('a', 'equalto', 2)|list|length }} "
          "{{ p|rejectattr('a', '>', 1)|map(attribute='n')|first }} {{ p|sort(attribute='n')|map("
          "attribute='n')|list }}",
          people),
      "b, A, c 2 A ['A', 'b', 'c']");
  EXPECT_EQ(
      rendered(
          "{{ {'b': 1, 'A': 2}|dictsort }}{{ [3, 1, 2]|sort(reverse=true) }}{{ [1, 1, 2]|unique|"
          "list }}{{ [1, 2, 3]|batch(2)|list }}{{ 'a b'|title }}{{ [1, 2]|sum }}{{ [3, 9]|max }}"),
      "[('A', 2), ('b', 1)][3, 2, 1][1, 2][[1, 2], [3]]A B39");
  EXPECT_EQ(rendered("{{ 'a\\nb\\n\\nc'|indent(2) }}|{{ 'a\\nb'|indent(1, true) }}"),
            "a\n  b\n\n  c| a\n b");
  EXPECT_EQ(rendered("{% filter upper %}a{{ 1 }}b{% endfilter %}"), "A1B");
  EXPECT_EQ(error_of("{{ [1]|select|length }}").first, "TemplateError")
      << "a generator has no length";
}

TEST(Jinja, UndefinedIsQuietUntilItIsUsed) {
  EXPECT_EQ(
      rendered(
          "{{ x }}{{ x is defined }}{{ x|default('d') }}{{ x|length }}{{ not x }}{% for y in x "
          "%}{% endfor %}{{ m.x is defined }}",
          R"({"m": {}})"),
      "Falsed0TrueFalse");
  for (const char* source :
       {"{{ x.y }}", "{{ x['y'] }}", "{{ x() }}", "{{ x + 'a' }}", "{{ 'a' + x }}"}) {
    EXPECT_EQ(error_of(source).first, "TemplateError") << source;
  }
  EXPECT_EQ(rendered("{{ d.items is defined }}{{ d['items'] }}{{ d.get('k', 1) }}",
                     R"({"d": {"items": 5}})"),
            "True51");
}

TEST(Jinja, SafeTextEscapesWhatIsAddedToIt) {
  EXPECT_EQ(rendered("{{ '<'|safe + '<&\"\\'' }}{{ '<'|safe ~ '<' }}"), "<&lt;&amp;&#34;&#39;<<");
}

TEST(Jinja, TellsTheTimeThatItIsGiven) {
  EXPECT_EQ(rendered("{{ strftime_now('%Y') }}"), "2025");
}

TEST(Jinja, ErrorsNameLineAndColumn) {
  EXPECT_EQ(error_of("a\n  {{ raise_exception('No ' + 'way') }}"),
            std::pair(std::string("TemplateRefused"),
                      std::string("chat template, line 2, column 21: No way")));
  const auto [code, message] = error_of("{% if x %}\n{% for %}");
  EXPECT_EQ(code, "TemplateSyntax");
  EXPECT_NE(message.find("line 2, column 8"), std::string::npos) << message;
  for (const char* source : {"{{ 1", "{{ 'a }}", "{% endif %}", "{% if 1 %}", "{% include 'x' %}",
                             "{{ x|nofilter }}", "{{ x is notest }}", "{# open", "{% break %}",
                             "{{ f(a=1, 2) }}", "{% set true = 1 %}", "{{ }}"}) {
    EXPECT_EQ(error_of(source).first, "TemplateSyntax") << source;
  }
  EXPECT_EQ(rendered("{% if false %}{{ x|nofilter }}{% endif %}"), "") << "never reached";
}

TEST(Jinja, NothingCanBeChangedBehindTheTemplatesBack) {
  for (const char* source :
       {"{{ l.append(1) }}", "{{ d.update({}) }}", "{{ d.pop('a') }}", "{{ l.sort() }}"}) {
    EXPECT_EQ(error_of(source, R"({"l": [1], "d": {"a": 1}})").first, "TemplateError") << source;
  }
  EXPECT_EQ(rendered("{{ ''.__class__ }}{{ l.__init__ is defined }}", R"({"l": []})"), "False");
}

TEST(JinjaOrigin, FollowsEveryByteOfWhatAUserSaid) {
  const char* const said = R"({"u": "AbCd", "o": {"k": "v", "n": 12}})";
  EXPECT_EQ(origins("x{{ u }}y", said), ".^^^^.");
  EXPECT_EQ(origins("{{ '<' + u[1:3] + '>' }}", said), ".^^.");
  EXPECT_EQ(origins("{{ u.replace('b', '--') }}", said), "^..^^");
  EXPECT_EQ(origins("{{ 'a-b'.replace('-', u) }}", said), ".^^^^.");
  EXPECT_EQ(origins("{{ u.split('b')|join('::') }}", said), "^..^^");
  EXPECT_EQ(origins("{{ ['x', 'y']|join(u) }}{{ u.join(['x', 'y']) }}", said), ".^^^^..^^^^.");
  EXPECT_EQ(origins("{{ (' ' ~ u ~ ' ')|trim|upper }}", said), "^^^^");
  EXPECT_EQ(origins("{{ '%s=%s' % ('k', u) }}{{ '{}!'.format(u) }}", said), "..^^^^^^^^.");
  EXPECT_EQ(origins("{{ {'k': u}|tojson }}", said), "......^^^^^^.") << R"({"k": "AbCd"})";
  EXPECT_EQ(origins("{{ o|tojson }}", said), "^^^^^^^^^^^^^^^^^^^") << R"({"k": "v", "n": 12})";
  EXPECT_EQ(origins("{{ [u] }}{{ o.n + 1 }}", said), ".^^^^^^.^^");
  EXPECT_EQ(
      origins("{% set t %}[{{ u }}]{% endset %}{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(t) }}",
              said),
      "..^^^^..");
  EXPECT_EQ(origins("{% for c in u %}{{ c }}-{% endfor %}{{ u|reverse }}{{ u * 2 }}", said),
            "^.^.^.^.^^^^^^^^^^^^");
  EXPECT_EQ(origins("{{ 'AbCd' if u == 'AbCd' else '' }}", said), "....");
}

}  // namespace
}  // namespace maglio::jinja
