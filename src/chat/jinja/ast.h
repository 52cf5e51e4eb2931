// A parsed template: a tree of statements and expressions.
//
// Nodes belong to the Program; they point at each other freely. No path through the tree is longer
// than the parser allows, so whoever walks it may recurse.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "chat/jinja/meter.h"
#include "chat/jinja/value.h"

namespace maglio::jinja {

struct Expr;
using ExprPtr = const Expr*;  // null where a part is left out

struct Literal {
  Value value;
};
struct Name {
  std::string name;
};
struct ListDisplay {
  std::vector<ExprPtr> items;
  bool is_tuple = false;
};
struct DictDisplay {
  std::vector<std::pair<ExprPtr, ExprPtr>> entries;
};
struct Attribute {  // object.name
  ExprPtr object = nullptr;
  std::string name;
};
struct Subscript {  // object[index]
  ExprPtr object = nullptr;
  ExprPtr index = nullptr;
};
struct SliceOf {  // object[start:stop:step]
  ExprPtr object = nullptr;
  ExprPtr start = nullptr, stop = nullptr, step = nullptr;
};
struct CallArguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr more_positional = nullptr;  // *x
  ExprPtr more_named = nullptr;       // **x
};
struct Call {
  ExprPtr callee = nullptr;
  CallArguments arguments;
};
struct FilterUse {
  ExprPtr input = nullptr;  // null: the body of a filter block
  std::string name;
  CallArguments arguments;
};
struct TestUse {  // input is name(arguments)
  ExprPtr input = nullptr;
  std::string name;
  CallArguments arguments;
};
struct Unary {
  enum class Op : uint8_t { negative, positive, logical_not };
  Op op;
  ExprPtr operand = nullptr;
};
struct Binary {
  enum class Op : uint8_t {
    add,
    subtract,
    multiply,
    divide,
    floor_divide,
    modulo,
    power,
    logical_and,
    logical_or,
  };
  Op op;
  ExprPtr left = nullptr, right = nullptr;
};
struct Comparison {  // a < b < c
  enum class Op : uint8_t { eq, ne, lt, le, gt, ge, in, not_in };
  ExprPtr first = nullptr;
  std::vector<std::pair<Op, ExprPtr>> rest;
};
struct Concat {  // a ~ b ~ c
  std::vector<ExprPtr> parts;
};
struct Conditional {  // then if test else otherwise
  ExprPtr test = nullptr, then = nullptr, otherwise = nullptr;
};

struct Expr {
  Position at;
  size_t height;  // of the tree below
  std::variant<Literal,
               Name,
               ListDisplay,
               DictDisplay,
               Attribute,
               Subscript,
               SliceOf,
               Call,
               FilterUse,
               TestUse,
               Unary,
               Binary,
               Comparison,
               Concat,
               Conditional>
      node;
};

struct Stmt;
using Block = std::vector<const Stmt*>;

// What is assigned to: a name, an attribute of a namespace, or several of them.
struct Target {
  std::string name;
  std::string attribute;        // ns.attribute; else empty
  std::vector<Target> several;  // a, b
};

struct Data {  // text outside of tags
  std::string text;
};
struct Print {
  ExprPtr value = nullptr;
};
struct If {
  std::vector<std::pair<ExprPtr, Block>> branches;
  Block otherwise;
};
struct For {
  Target target;
  ExprPtr items = nullptr;
  ExprPtr condition = nullptr;  // may be null
  Block body;
  Block otherwise;  // where there was no item
  bool recursive = false;
};
struct Set {
  Target target;
  ExprPtr value = nullptr;
};
struct SetBlock {
  Target target;
  ExprPtr filter = nullptr;  // a chain of FilterUse, or null
  Block body;
};
struct Parameter {
  std::string name;
  ExprPtr otherwise = nullptr;  // default, or null
};
struct Macro {
  std::string name;
  std::vector<Parameter> parameters;
  Block body;
  bool takes_more_positional = false;  // its body speaks of varargs
  bool takes_more_named = false;       // of kwargs
  bool takes_caller = false;           // of caller
};
struct CallBlock {  // {% call(x) f() %}body{% endcall %}: the body is f's caller(x)
  Macro caller;
  ExprPtr call = nullptr;
};
struct FilterBlock {
  ExprPtr filter = nullptr;
  Block body;
};
struct With {  // variables of its own; {% generation %} is one without any
  std::vector<std::pair<Target, ExprPtr>> variables;
  Block body;
};
struct Break {};
struct Continue {};

struct Stmt {
  Position at;
  std::variant<Data,
               Print,
               If,
               For,
               Set,
               SetBlock,
               Macro,
               CallBlock,
               FilterBlock,
               With,
               Break,
               Continue>
      node;
};

struct Program {
  std::deque<Expr> exprs;
  std::deque<Stmt> stmts;
  Block body;
};

}  // namespace maglio::jinja
