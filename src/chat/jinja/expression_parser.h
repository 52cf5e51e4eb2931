// Expressions, by recursive descent in Jinja's order of precedence (jinja2/parser.py, 3.1):
//
//   a if b else c | or | and | not | == != < > <= >= in | + - | ~ | * / // % | ** | unary
//   . [] () |filter is test
#pragma once

#include <string>
#include <vector>

#include "chat/jinja/ast.h"
#include "chat/jinja/lexer.h"

namespace maglio::jinja {

// The tokens of a template, one after the other.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[next_]; }
  const Token& ahead() const { return tokens_[std::min(next_ + 1, tokens_.size() - 1)]; }
  Token take();
  bool sees(Token::Kind kind) const { return current().kind == kind; }
  bool sees_symbol(std::string_view text) const;
  bool sees_name(std::string_view text) const;
  // Take it if it is there.
  bool skip_symbol(std::string_view text);
  bool skip_name(std::string_view text);
  // Throws, where something else stands there: Error bad_file "TemplateSyntax".
  void expect_symbol(std::string_view text);
  Token expect(Token::Kind kind, std::string_view what);
  [[noreturn]] void unexpected(std::string_view expected) const;

 private:
  std::vector<Token> tokens_;
  size_t next_ = 0;
};

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, Program& program) : tokens_(tokens), program_(program) {}

  // With or without the form `a if b else c`.
  ExprPtr expression();
  ExprPtr without_condition() { return logical_or(); }
  // One expression, or several with commas between them: a tuple.
  ExprPtr tuple(bool with_condition = true);
  // `f|g(1)` on nothing: what a filter block does to its body.
  ExprPtr filter_chain();
  Target target(bool may_be_attribute);
  std::vector<Parameter> parameters();  // ( a, b=1 )

  // An unknown filter or test is an error of syntax, but inside of an `if`, where it may never be
  // reached.
  bool in_condition = false;
  // Names that a macro's body speaks of.
  bool saw_varargs = false, saw_kwargs = false, saw_caller = false;

  // One level deeper, as long as it lives. Throws: Error bad_file "TemplateLimit".
  class Level {
   public:
    explicit Level(ExpressionParser& parser);
    ~Level() { --parser_.depth_; }

   private:
    ExpressionParser& parser_;
  };

 private:
  template <class Node>
  ExprPtr make(Position at, Node node, std::initializer_list<ExprPtr> children);
  ExprPtr logical_or();
  ExprPtr logical_and();
  ExprPtr logical_not();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concat();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filters = true);
  ExprPtr primary();
  ExprPtr literal_of(const Token& token);
  ExprPtr parenthesised();
  ExprPtr list_display();
  ExprPtr dict_display();
  ExprPtr postfix(ExprPtr object);
  ExprPtr filters_and_tests(ExprPtr input);
  ExprPtr subscript(ExprPtr object);
  ExprPtr filter(ExprPtr input);
  ExprPtr test(ExprPtr input);
  ExprPtr call(ExprPtr callee);
  CallArguments call_arguments();
  std::string dotted_name();

  TokenStream& tokens_;
  Program& program_;
  size_t depth_ = 0;
};

}  // namespace maglio::jinja
