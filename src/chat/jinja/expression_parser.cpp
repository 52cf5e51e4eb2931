#include "chat/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "chat/jinja/filters.h"
#include "chat/jinja/number_text.h"
#include "chat/jinja/tests.h"
#include "maglio/error.h"

namespace maglio::jinja {
namespace {

using Kind = Token::Kind;

constexpr size_t kMaxDepth = 100;  // of brackets and blocks in each other
constexpr size_t kMaxTree = 400;   // of the tree: a + b + c + ... leans to the left

template <class Op, size_t n>
using OpTable = std::array<std::pair<std::string_view, Op>, n>;

template <class Op, size_t n>
std::optional<Op> symbol_in(const TokenStream& tokens, const OpTable<Op, n>& table) {
  for (const auto& [symbol, op] : table) {
    if (tokens.sees_symbol(symbol)) return op;
  }
  return std::nullopt;
}

[[noreturn]] void too_deep(Position at) {
  throw Error(
      ErrorKind::bad_file, "TemplateLimit",
      fmt::format("chat template, line {}, column {}: nested too deep", at.line, at.column));
}

}  // namespace

Token TokenStream::take() {
  Token token = tokens_[next_];
  if (next_ + 1 < tokens_.size()) ++next_;
  return token;
}

bool TokenStream::sees_symbol(std::string_view text) const {
  return current().kind == Kind::symbol && current().text == text;
}
bool TokenStream::sees_name(std::string_view text) const {
  return current().kind == Kind::name && current().text == text;
}
bool TokenStream::skip_symbol(std::string_view text) {
  if (!sees_symbol(text)) return false;
  take();
  return true;
}
bool TokenStream::skip_name(std::string_view text) {
  if (!sees_name(text)) return false;
  take();
  return true;
}
void TokenStream::expect_symbol(std::string_view text) {
  if (!skip_symbol(text)) unexpected(fmt::format("'{}'", text));
}
Token TokenStream::expect(Kind kind, std::string_view what) {
  if (!sees(kind)) unexpected(what);
  return take();
}

void TokenStream::unexpected(std::string_view expected) const {
  const Token& token = current();
  const auto found = [&]() -> std::string {
    switch (token.kind) {
      case Kind::data:
        return "text";
      case Kind::open_print:
        return "'{{'";
      case Kind::close_print:
        return "'}}'";
      case Kind::open_block:
        return "'{%'";
      case Kind::close_block:
        return "'%}'";
      case Kind::end:
        return "the end of the template";
      case Kind::string:
        return "a string";
      case Kind::name:
      case Kind::integer:
      case Kind::real:
      case Kind::symbol:
        return fmt::format("'{}'", token.text);
    }
    return "";
  };
  syntax_error(token.at, fmt::format("expected {}, found {}", expected, found()));
}

ExpressionParser::Level::Level(ExpressionParser& parser) : parser_(parser) {
  if (++parser_.depth_ > kMaxDepth) too_deep(parser_.tokens_.current().at);
}

template <class Node>
ExprPtr ExpressionParser::make(Position at, Node node, std::initializer_list<ExprPtr> children) {
  size_t height = 1;
  for (ExprPtr child : children) height = std::max(height, child ? child->height + 1 : 1);
  if (height > kMaxTree) too_deep(at);
  return &program_.exprs.emplace_back(Expr{at, height, std::move(node)});
}

ExprPtr ExpressionParser::expression() {
  const Level level(*this);
  const Position at = tokens_.current().at;
  ExprPtr then = logical_or();
  while (tokens_.skip_name("if")) {
    const bool outer = std::exchange(in_condition, true);
    ExprPtr condition = logical_or();
    ExprPtr otherwise = tokens_.skip_name("else") ? expression() : nullptr;
    in_condition = outer;
    then = make(at, Conditional{condition, then, otherwise}, {condition, then, otherwise});
  }
  return then;
}

ExprPtr ExpressionParser::tuple(bool with_condition) {
  const Position at = tokens_.current().at;
  const auto one = [&] { return with_condition ? expression() : without_condition(); };
  ExprPtr first = one();
  if (!tokens_.sees_symbol(",")) return first;
  ListDisplay all{{first}, true};
  size_t height = first->height;
  while (tokens_.skip_symbol(",")) {
    const Kind kind = tokens_.current().kind;
    if (kind == Kind::close_print || kind == Kind::close_block || tokens_.sees_symbol(")")) break;
    all.items.push_back(one());
    height = std::max(height, all.items.back()->height);
  }
  if (height >= kMaxTree) too_deep(at);
  return &program_.exprs.emplace_back(Expr{at, height + 1, std::move(all)});
}

ExprPtr ExpressionParser::logical_or() {
  const Position at = tokens_.current().at;
  ExprPtr left = logical_and();
  while (tokens_.skip_name("or")) {
    ExprPtr right = logical_and();
    left = make(at, Binary{Binary::Op::logical_or, left, right}, {left, right});
  }
  return left;
}

ExprPtr ExpressionParser::logical_and() {
  const Position at = tokens_.current().at;
  ExprPtr left = logical_not();
  while (tokens_.skip_name("and")) {
    ExprPtr right = logical_not();
    left = make(at, Binary{Binary::Op::logical_and, left, right}, {left, right});
  }
  return left;
}

ExprPtr ExpressionParser::logical_not() {
  const Level level(*this);
  const Position at = tokens_.current().at;
  if (!tokens_.skip_name("not")) return comparison();
  ExprPtr operand = logical_not();
  return make(at, Unary{Unary::Op::logical_not, operand}, {operand});
}

ExprPtr ExpressionParser::comparison() {
  using Op = Comparison::Op;
  static constexpr OpTable<Op, 6> kOps = {{{"==", Op::eq},
                                           {"!=", Op::ne},
                                           {"<=", Op::le},
                                           {">=", Op::ge},
                                           {"<", Op::lt},
                                           {">", Op::gt}}};
  const Position at = tokens_.current().at;
  ExprPtr first = sum();
  Comparison all{first, {}};
  size_t height = first->height;
  while (true) {
    std::optional<Op> op = symbol_in(tokens_, kOps);
    if (op) {
      tokens_.take();
    } else if (tokens_.skip_name("in")) {
      op = Op::in;
    } else if (tokens_.sees_name("not") && tokens_.ahead().kind == Kind::name &&
               tokens_.ahead().text == "in") {
      tokens_.take();
      tokens_.take();
      op = Op::not_in;
    } else {
      break;
    }
    all.rest.emplace_back(*op, sum());
    height = std::max(height, all.rest.back().second->height);
  }
  if (all.rest.empty()) return first;
  return &program_.exprs.emplace_back(Expr{at, height + 1, std::move(all)});
}

ExprPtr ExpressionParser::sum() {
  using Op = Binary::Op;
  static constexpr OpTable<Op, 2> kOps = {{{"+", Op::add}, {"-", Op::subtract}}};
  const Position at = tokens_.current().at;
  ExprPtr left = concat();
  while (const auto op = symbol_in(tokens_, kOps)) {
    tokens_.take();
    ExprPtr right = concat();
    left = make(at, Binary{*op, left, right}, {left, right});
  }
  return left;
}

ExprPtr ExpressionParser::concat() {
  const Position at = tokens_.current().at;
  ExprPtr first = product();
  if (!tokens_.sees_symbol("~")) return first;
  Concat all{{first}};
  size_t height = first->height;
  while (tokens_.skip_symbol("~")) {
    all.parts.push_back(product());
    height = std::max(height, all.parts.back()->height);
  }
  return &program_.exprs.emplace_back(Expr{at, height + 1, std::move(all)});
}

ExprPtr ExpressionParser::product() {
  using Op = Binary::Op;
  static constexpr OpTable<Op, 4> kOps = {
      {{"*", Op::multiply}, {"/", Op::divide}, {"//", Op::floor_divide}, {"%", Op::modulo}}};
  const Position at = tokens_.current().at;
  ExprPtr left = power();
  while (const auto op = symbol_in(tokens_, kOps)) {
    tokens_.take();
    ExprPtr right = power();
    left = make(at, Binary{*op, left, right}, {left, right});
  }
  return left;
}

ExprPtr ExpressionParser::power() {
  const Position at = tokens_.current().at;
  ExprPtr left = unary();
  while (tokens_.skip_symbol("**")) {
    ExprPtr right = unary();
    left = make(at, Binary{Binary::Op::power, left, right}, {left, right});
  }
  return left;
}

ExprPtr ExpressionParser::unary(bool with_filters) {
  const Level level(*this);
  const Position at = tokens_.current().at;
  ExprPtr node = nullptr;
  if (tokens_.skip_symbol("-")) {
    ExprPtr operand = unary(false);
    node = make(at, Unary{Unary::Op::negative, operand}, {operand});
  } else if (tokens_.skip_symbol("+")) {
    ExprPtr operand = unary(false);
    node = make(at, Unary{Unary::Op::positive, operand}, {operand});
  } else {
    node = primary();
  }
  node = postfix(node);
  return with_filters ? filters_and_tests(node) : node;
}

ExprPtr ExpressionParser::primary() {
  if (tokens_.sees_symbol("(")) return parenthesised();
  if (tokens_.sees_symbol("[")) return list_display();
  if (tokens_.sees_symbol("{")) return dict_display();
  const Token token = tokens_.current();
  if (token.kind == Kind::symbol || token.kind < Kind::name || token.kind == Kind::end) {
    tokens_.unexpected("an expression");
  }
  tokens_.take();
  return literal_of(token);
}

ExprPtr ExpressionParser::literal_of(const Token& token) {
  const auto constant = [&](Value value) { return make(token.at, Literal{std::move(value)}, {}); };
  if (token.kind == Kind::string) {
    std::string text = token.text;
    while (tokens_.sees(Kind::string)) text += tokens_.take().text;
    return constant(Value::string(text));
  }
  if (token.kind == Kind::integer) {
    const auto n = parse_integer(token.text, 0);
    if (!n) syntax_error(token.at, fmt::format("'{}' is no number that fits", token.text));
    return constant(Value::integer(*n));
  }
  if (token.kind == Kind::real) {
    return constant(Value::real(parse_real(token.text).value_or(0)));
  }
  const std::string& name = token.text;
  if (name == "true" || name == "True") return constant(Value::boolean(true));
  if (name == "false" || name == "False") return constant(Value::boolean(false));
  if (name == "none" || name == "None") return constant(Value());
  saw_varargs |= name == "varargs";
  saw_kwargs |= name == "kwargs";
  saw_caller |= name == "caller";
  return make(token.at, Name{name}, {});
}

ExprPtr ExpressionParser::parenthesised() {
  const Position at = tokens_.take().at;
  if (tokens_.skip_symbol(")")) return make(at, ListDisplay{{}, true}, {});
  ExprPtr inner = tuple();
  tokens_.expect_symbol(")");
  return inner;
}

ExprPtr ExpressionParser::list_display() {
  const Position at = tokens_.take().at;
  ListDisplay list;
  size_t height = 0;
  while (!tokens_.sees_symbol("]")) {
    if (!list.items.empty()) {
      tokens_.expect_symbol(",");
      if (tokens_.sees_symbol("]")) break;
    }
    list.items.push_back(expression());
    height = std::max(height, list.items.back()->height);
  }
  tokens_.expect_symbol("]");
  return &program_.exprs.emplace_back(Expr{at, height + 1, std::move(list)});
}

ExprPtr ExpressionParser::dict_display() {
  const Position at = tokens_.take().at;
  DictDisplay dict;
  size_t height = 0;
  while (!tokens_.sees_symbol("}")) {
    if (!dict.entries.empty()) {
      tokens_.expect_symbol(",");
      if (tokens_.sees_symbol("}")) break;
    }
    ExprPtr key = expression();
    tokens_.expect_symbol(":");
    ExprPtr value = expression();
    dict.entries.emplace_back(key, value);
    height = std::max({height, key->height, value->height});
  }
  tokens_.expect_symbol("}");
  return &program_.exprs.emplace_back(Expr{at, height + 1, std::move(dict)});
}

ExprPtr ExpressionParser::postfix(ExprPtr object) {
  while (true) {
    if (tokens_.sees_symbol(".") || tokens_.sees_symbol("[")) {
      object = subscript(object);
    } else if (tokens_.sees_symbol("(")) {
      object = call(object);
    } else {
      return object;
    }
  }
}

ExprPtr ExpressionParser::filters_and_tests(ExprPtr input) {
  while (true) {
    if (tokens_.sees_symbol("|")) {
      tokens_.take();
      input = filter(input);
    } else if (tokens_.sees_name("is")) {
      input = test(input);
    } else if (tokens_.sees_symbol("(")) {
      input = call(input);
    } else {
      return input;
    }
  }
}

ExprPtr ExpressionParser::subscript(ExprPtr object) {
  const Position at = tokens_.current().at;
  if (tokens_.skip_symbol(".")) {
    if (tokens_.sees(Kind::integer)) {
      ExprPtr index = literal_of(tokens_.take());
      return make(at, Subscript{object, index}, {object, index});
    }
    const Token name = tokens_.expect(Kind::name, "the name of an attribute");
    return make(at, Attribute{object, name.text}, {object});
  }
  tokens_.expect_symbol("[");
  const auto bound = [&]() -> ExprPtr {
    return tokens_.sees_symbol(":") || tokens_.sees_symbol("]") ? nullptr : expression();
  };
  ExprPtr start = bound();
  if (start && tokens_.skip_symbol("]")) {
    return make(at, Subscript{object, start}, {object, start});
  }
  tokens_.expect_symbol(":");
  ExprPtr stop = bound();
  ExprPtr step = tokens_.skip_symbol(":") ? bound() : nullptr;
  tokens_.expect_symbol("]");
  return make(at, SliceOf{object, start, stop, step}, {object, start, stop, step});
}

std::string ExpressionParser::dotted_name() {
  std::string name = tokens_.expect(Kind::name, "a name").text;
  while (tokens_.skip_symbol(".")) name += "." + tokens_.expect(Kind::name, "a name").text;
  return name;
}

ExprPtr ExpressionParser::filter(ExprPtr input) {
  const Position at = tokens_.current().at;
  const std::string name = dotted_name();
  if (!find_filter(name) && !in_condition) {
    syntax_error(at, fmt::format("there is no filter '{}'", name));
  }
  CallArguments arguments;
  if (tokens_.sees_symbol("(")) arguments = call_arguments();
  return make(at, FilterUse{input, name, std::move(arguments)}, {input});
}

ExprPtr ExpressionParser::filter_chain() {
  ExprPtr chain = filter(nullptr);
  while (tokens_.skip_symbol("|")) chain = filter(chain);
  return chain;
}

ExprPtr ExpressionParser::test(ExprPtr input) {
  const Position at = tokens_.take().at;  // is
  const bool negated = tokens_.skip_name("not");
  const std::string name = dotted_name();
  if (!find_test(name) && !in_condition) {
    syntax_error(at, fmt::format("there is no test '{}'", name));
  }
  CallArguments arguments;
  const Token& next = tokens_.current();
  const bool value_follows = (next.kind >= Kind::name && next.kind <= Kind::real) ||
                             tokens_.sees_symbol("[") || tokens_.sees_symbol("{");
  const bool word_follows = next.kind == Kind::name && (next.text == "else" || next.text == "or" ||
                                                        next.text == "and" || next.text == "if");
  if (tokens_.sees_symbol("(")) {
    arguments = call_arguments();
  } else if (value_follows && !word_follows) {
    if (tokens_.sees_name("is")) syntax_error(next.at, "tests cannot be chained with 'is'");
    arguments.positional.push_back(postfix(primary()));
  }
  ExprPtr node = make(at, TestUse{input, name, std::move(arguments)}, {input});
  return negated ? make(at, Unary{Unary::Op::logical_not, node}, {node}) : node;
}

ExprPtr ExpressionParser::call(ExprPtr callee) {
  const Position at = tokens_.current().at;
  CallArguments arguments = call_arguments();
  return make(at, Call{callee, std::move(arguments)}, {callee});
}

CallArguments ExpressionParser::call_arguments() {
  const Level level(*this);
  CallArguments arguments;
  tokens_.expect_symbol("(");
  bool first = true;
  while (!tokens_.sees_symbol(")")) {
    if (!first) {
      tokens_.expect_symbol(",");
      if (tokens_.sees_symbol(")")) break;
    }
    first = false;
    const Position at = tokens_.current().at;
    if (tokens_.skip_symbol("**")) {
      arguments.more_named = expression();
    } else if (tokens_.skip_symbol("*")) {
      arguments.more_positional = expression();
    } else if (tokens_.sees(Kind::name) && tokens_.ahead().kind == Kind::symbol &&
               tokens_.ahead().text == "=") {
      const std::string name = tokens_.take().text;
      tokens_.take();
      arguments.named.emplace_back(name, expression());
    } else if (!arguments.named.empty() || arguments.more_named) {
      syntax_error(at, "an argument without a name behind one with a name");
    } else {
      arguments.positional.push_back(expression());
    }
  }
  tokens_.expect_symbol(")");
  return arguments;
}

Target ExpressionParser::target(bool may_be_attribute) {
  const auto one = [&]() -> Target {
    const Level level(*this);
    if (tokens_.skip_symbol("(")) {
      Target inner = target(may_be_attribute);
      tokens_.expect_symbol(")");
      return inner;
    }
    const Token name = tokens_.expect(Kind::name, "a name to assign to");
    constexpr std::array<std::string_view, 6> kConstants = {"true",  "True", "false",
                                                            "False", "none", "None"};
    if (std::find(kConstants.begin(), kConstants.end(), name.text) != kConstants.end()) {
      syntax_error(name.at, fmt::format("'{}' cannot be assigned to", name.text));
    }
    if (may_be_attribute && tokens_.skip_symbol(".")) {
      return {name.text, tokens_.expect(Kind::name, "the name of an attribute").text, {}};
    }
    return {name.text, {}, {}};
  };
  Target first = one();
  if (!tokens_.sees_symbol(",")) return first;
  Target all;
  all.several.push_back(std::move(first));
  while (tokens_.skip_symbol(",")) {
    if (!tokens_.sees(Kind::name) && !tokens_.sees_symbol("(")) break;
    all.several.push_back(one());
  }
  return all;
}

std::vector<Parameter> ExpressionParser::parameters() {
  std::vector<Parameter> all;
  tokens_.expect_symbol("(");
  while (!tokens_.sees_symbol(")")) {
    if (!all.empty()) {
      tokens_.expect_symbol(",");
      if (tokens_.sees_symbol(")")) break;
    }
    const Token name = tokens_.expect(Kind::name, "the name of a parameter");
    ExprPtr otherwise = nullptr;
    if (tokens_.skip_symbol("=")) {
      otherwise = expression();
    } else if (!all.empty() && all.back().otherwise) {
      syntax_error(name.at, "a parameter without a default behind one with a default");
    }
    all.push_back({name.text, otherwise});
  }
  tokens_.expect_symbol(")");
  return all;
}

}  // namespace maglio::jinja
