#include "chat/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "chat/jinja/expression_parser.h"
#include "chat/jinja/lexer.h"

namespace maglio::jinja {
namespace {

using Kind = Token::Kind;

class Parser {
 public:
  Parser(std::string_view source, Program& program)
      : program_(program), tokens_(lex(source)), expressions_(tokens_, program) {}

  void run() {
    program_.body = block({});
    if (!tokens_.sees(Kind::end)) tokens_.unexpected("the end of the template");
  }

 private:
  // Statements up to a tag with one of these names, of which the name is next.
  Block block(std::initializer_list<std::string_view> ends) {
    const ExpressionParser::Level level(expressions_);
    Block all;
    while (!tokens_.sees(Kind::end)) {
      const Position at = tokens_.current().at;
      if (tokens_.sees(Kind::data)) {
        add(all, at, Data{tokens_.take().text});
      } else if (tokens_.sees(Kind::open_print)) {
        tokens_.take();
        add(all, at, Print{expressions_.tuple()});
        tokens_.expect(Kind::close_print, "'}}'");
      } else {
        tokens_.expect(Kind::open_block, "a tag");
        for (std::string_view end : ends) {
          if (tokens_.sees_name(end)) return all;
        }
        statement(all, at);
      }
    }
    if (ends.size() > 0) tokens_.unexpected(fmt::format("'{}'", *(ends.end() - 1)));
    return all;
  }

  // The body of a tag, and its end: {% name %} ... {% endname %}.
  Block body_until(std::string_view end) {
    close_tag();
    Block body = block({end});
    tokens_.take();
    return body;
  }
  // The same where what is inside is no longer part of an `if` around it.
  Block own_body_until(std::string_view end) {
    const bool outer = std::exchange(expressions_.in_condition, false);
    Block body = body_until(end);
    expressions_.in_condition = outer;
    return body;
  }

  void close_tag() { tokens_.expect(Kind::close_block, "'%}'"); }

  template <class Node>
  void add(Block& to, Position at, Node node) {
    to.push_back(&program_.stmts.emplace_back(Stmt{at, std::move(node)}));
  }

  void statement(Block& to, Position at) {
    const Token name = tokens_.expect(Kind::name, "the name of a tag");
    if (name.text == "if") return if_tag(to, at);
    if (name.text == "for") return for_tag(to, at);
    if (name.text == "set") return set_tag(to, at);
    if (name.text == "macro") return macro_tag(to, at);
    if (name.text == "call") return call_tag(to, at);
    if (name.text == "filter") return filter_tag(to, at);
    if (name.text == "with") return with_tag(to, at);
    if (name.text == "generation") {
      add(to, at, With{{}, own_body_until("endgeneration")});
    } else if (name.text == "break" || name.text == "continue") {
      if (loop_depth_ == 0) syntax_error(at, fmt::format("'{}' outside of a loop", name.text));
      name.text == "break" ? add(to, at, Break{}) : add(to, at, Continue{});
    } else if (name.text == "include" || name.text == "import" || name.text == "from" ||
               name.text == "extends") {
      syntax_error(at,
                   fmt::format("'{}' reads other files, which no chat template may", name.text));
    } else {
      syntax_error(at, fmt::format("unknown tag '{}'", name.text));
    }
    close_tag();
  }

  void if_tag(Block& to, Position at) {
    If node;
    const bool outer = std::exchange(expressions_.in_condition, true);
    std::string end = "elif";
    while (end == "elif") {
      ExprPtr test = expressions_.tuple(/*with_condition=*/false);
      close_tag();
      Block body = block({"elif", "else", "endif"});
      node.branches.emplace_back(test, std::move(body));
      end = tokens_.take().text;
    }
    if (end == "else") {
      close_tag();
      node.otherwise = block({"endif"});
      tokens_.take();
    }
    close_tag();
    expressions_.in_condition = outer;
    add(to, at, std::move(node));
  }

  void for_tag(Block& to, Position at) {
    For node;
    node.target = expressions_.target(/*may_be_attribute=*/false);
    if (!tokens_.skip_name("in")) tokens_.unexpected("'in'");
    node.items = expressions_.tuple(/*with_condition=*/false);
    if (tokens_.skip_name("if")) node.condition = expressions_.expression();
    node.recursive = tokens_.skip_name("recursive");
    close_tag();
    const bool outer = std::exchange(expressions_.in_condition, false);
    ++loop_depth_;
    node.body = block({"else", "endfor"});
    --loop_depth_;
    if (tokens_.take().text == "else") {
      close_tag();
      node.otherwise = block({"endfor"});
      tokens_.take();
    }
    close_tag();
    expressions_.in_condition = outer;
    add(to, at, std::move(node));
  }

  void set_tag(Block& to, Position at) {
    Target target = expressions_.target(/*may_be_attribute=*/true);
    if (tokens_.skip_symbol("=")) {
      ExprPtr value = expressions_.tuple();
      close_tag();
      return add(to, at, Set{std::move(target), value});
    }
    ExprPtr filter = tokens_.skip_symbol("|") ? expressions_.filter_chain() : nullptr;
    Block body = own_body_until("endset");
    close_tag();
    add(to, at, SetBlock{std::move(target), filter, std::move(body)});
  }

  // A body that may speak of varargs, kwargs and caller, into the macro that it is of.
  void macro_body(Macro& macro, std::string_view end) {
    const bool varargs = std::exchange(expressions_.saw_varargs, false);
    const bool kwargs = std::exchange(expressions_.saw_kwargs, false);
    const bool caller = std::exchange(expressions_.saw_caller, false);
    const size_t loops = std::exchange(loop_depth_, 0);
    macro.body = own_body_until(end);
    close_tag();
    macro.takes_more_positional = std::exchange(expressions_.saw_varargs, varargs);
    macro.takes_more_named = std::exchange(expressions_.saw_kwargs, kwargs);
    macro.takes_caller = std::exchange(expressions_.saw_caller, caller);
    loop_depth_ = loops;
  }

  void macro_tag(Block& to, Position at) {
    Macro macro;
    macro.name = tokens_.expect(Kind::name, "the name of a macro").text;
    macro.parameters = expressions_.parameters();
    macro_body(macro, "endmacro");
    add(to, at, std::move(macro));
  }

  void call_tag(Block& to, Position at) {
    CallBlock node;
    node.caller.name = "caller";
    if (tokens_.sees_symbol("(")) node.caller.parameters = expressions_.parameters();
    node.call = expressions_.expression();
    if (!std::holds_alternative<Call>(node.call->node)) syntax_error(at, "expected a call");
    macro_body(node.caller, "endcall");
    add(to, at, std::move(node));
  }

  void filter_tag(Block& to, Position at) {
    ExprPtr filter = expressions_.filter_chain();
    Block body = own_body_until("endfilter");
    close_tag();
    add(to, at, FilterBlock{filter, std::move(body)});
  }

  void with_tag(Block& to, Position at) {
    With node;
    while (!tokens_.sees(Kind::close_block)) {
      if (!node.variables.empty()) tokens_.expect_symbol(",");
      Target target = expressions_.target(/*may_be_attribute=*/false);
      tokens_.expect_symbol("=");
      node.variables.emplace_back(std::move(target), expressions_.expression());
    }
    node.body = own_body_until("endwith");
    close_tag();
    add(to, at, std::move(node));
  }

  Program& program_;
  TokenStream tokens_;
  ExpressionParser expressions_;
  size_t loop_depth_ = 0;
};

}  // namespace

Program parse(std::string_view source) {
  Program program;
  Parser(source, program).run();
  return program;
}

}  // namespace maglio::jinja
