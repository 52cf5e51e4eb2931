#include "chat/jinja/evaluator.h"

#include <fmt/format.h>

#include <deque>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>

#include "chat/jinja/attributes.h"
#include "chat/jinja/filters.h"
#include "chat/jinja/globals.h"
#include "chat/jinja/operators.h"
#include "chat/jinja/print.h"
#include "chat/jinja/python_text.h"
#include "chat/jinja/tests.h"

namespace maglio::jinja {
namespace {

// The variables of a loop's round, a macro or a template; what it lacks, its parent may have.
struct Scope {
  Scope* parent = nullptr;
  std::unordered_map<std::string, Value> variables = {};
  bool captured = false;  // by a macro, which may outlive the block
};

enum class Flow : uint8_t { next, leave_loop, next_round };

class Evaluator {
 public:
  Evaluator(Meter& meter, const Dict& variables) : meter_(meter) {
    global_.variables = globals(spaces_);
    for (const auto& [name, value] : variables.entries()) {
      global_.variables.insert_or_assign(name.as_string()->bytes(), value);
    }
    scope_ = &new_scope(&global_);
  }

  Text run(const Program& program) {
    run(program.body);
    return std::move(output_);
  }

 private:
  // --- Scopes and output -----------------------------------------------------------------------

  Scope& new_scope(Scope* parent) { return scopes_.emplace_back(Scope{parent}); }

  // The current scope, which then stays as long as the rendering.
  Scope* captured_scope() {
    for (Scope* scope = scope_; scope; scope = scope->parent) scope->captured = true;
    return scope_;
  }

  // Evaluates in a scope of its own. It stays where a macro was made inside, else it goes.
  template <class Action>
  auto inside(Scope* parent, Action action) {
    meter_.values(1);
    Scope& inner = new_scope(parent);
    struct Back {
      Evaluator& self;
      Scope& inner;
      Scope* outer;
      ~Back() {
        self.scope_ = outer;
        const bool last = &self.scopes_.back() == &inner;
        if (last && !inner.captured) self.scopes_.pop_back();
      }
    } back{*this, inner, std::exchange(scope_, &inner)};
    return action();
  }

  // What the action prints, as text instead.
  template <class Action>
  Text captured(Action action) {
    struct Back {
      Text& output;
      Text outer;
      ~Back() { output = std::move(outer); }
    } back{output_, std::exchange(output_, {})};
    action();
    return std::exchange(output_, {});
  }

  void print(const Text& text) {
    meter_.grow(output_.size(), text.size());
    output_.append(text);
  }

  const Value* find(const std::string& name) {
    for (const Scope* scope = scope_; scope; scope = scope->parent) {
      meter_.text(name.size());  // it is hashed
      meter_.step();
      const auto found = scope->variables.find(name);
      if (found != scope->variables.end()) return &found->second;
    }
    return nullptr;
  }

  void assign(const Target& target, Value value) {
    if (!target.several.empty()) {
      std::vector<Value> parts = iterate(meter_, value);
      if (parts.size() != target.several.size()) {
        meter_.fail(fmt::format("{} values for {} names", parts.size(), target.several.size()));
      }
      for (size_t i = 0; i < parts.size(); ++i) assign(target.several[i], std::move(parts[i]));
      return;
    }
    meter_.values(1);
    if (target.attribute.empty()) {
      scope_->variables.insert_or_assign(target.name, std::move(value));
      return;
    }
    const Value* found = find(target.name);
    Namespace* space = found ? found->as_space() : nullptr;
    if (!space)
      meter_.fail(fmt::format("'{}' is no namespace: nothing can be set in it", target.name));
    meter_.step(space->entries.size() / kEntriesPerStep);
    space->set(target.attribute, std::move(value));
  }

  // --- Statements ------------------------------------------------------------------------------

  Flow run(const Block& block) {
    for (const Stmt* stmt : block) {
      const Meter::Level level(meter_);
      meter_.at = stmt->at;
      meter_.step();
      const Flow flow = std::visit([&](const auto& node) { return run_node(node); }, stmt->node);
      if (flow != Flow::next) return flow;
    }
    return Flow::next;
  }

  Flow run_node(const Data& node) {
    meter_.grow(output_.size(), node.text.size());
    output_.append(node.text, Origin::trusted);
    return Flow::next;
  }
  Flow run_node(const Print& node) {
    print(to_text(meter_, eval(node.value)));
    return Flow::next;
  }
  Flow run_node(const If& node) {
    for (const auto& [test, body] : node.branches) {
      if (eval(test).truthy()) return run(body);
    }
    return run(node.otherwise);
  }
  Flow run_node(const Set& node) {
    assign(node.target, eval(node.value));
    return Flow::next;
  }
  Flow run_node(const SetBlock& node) {
    Value text = Value::string(body_text(node.body));
    if (node.filter) text = filtered(node.filter, std::move(text));
    assign(node.target, std::move(text));
    return Flow::next;
  }
  Flow run_node(const FilterBlock& node) {
    print(to_text(meter_, filtered(node.filter, Value::string(body_text(node.body)))));
    return Flow::next;
  }
  Flow run_node(const With& node) {
    std::vector<Value> values;
    for (const auto& variable : node.variables) values.push_back(eval(variable.second));
    return inside(scope_, [&] {
      for (size_t i = 0; i < values.size(); ++i) {
        assign(node.variables[i].first, std::move(values[i]));
      }
      return run(node.body);
    });
  }
  Flow run_node(const Break&) { return Flow::leave_loop; }
  Flow run_node(const Continue&) { return Flow::next_round; }
  Flow run_node(const Macro& node) {
    assign({node.name, {}, {}}, function_of(node));
    return Flow::next;
  }
  Flow run_node(const CallBlock& node) {
    const Call& call = std::get<Call>(node.call->node);
    const Value callee = eval(call.callee);
    Arguments arguments = eval(call.arguments);
    arguments.named.emplace_back("caller", function_of(node.caller));
    meter_.at = node.call->at;
    print(to_text(meter_, call_value(callee, arguments)));
    return Flow::next;
  }

  Flow run_node(const For& node) {
    loop(node, eval(node.items), 0);
    return Flow::next;
  }

  void loop(const For& node, const Value& over, size_t depth) {
    std::vector<Value> items = iterate(meter_, over);
    if (node.condition) {
      std::vector<Value> kept;
      for (Value& one : items) {
        const bool keeps = inside(scope_, [&] {
          assign(node.target, one);
          return eval(node.condition).truthy();
        });
        if (keeps) kept.push_back(std::move(one));
      }
      items = std::move(kept);
    }
    if (items.empty()) {
      inside(scope_, [&] { run(node.otherwise); });
      return;
    }
    Loop& state = loops_.emplace_back();
    state.items = std::move(items);
    state.depth0 = depth;
    if (node.recursive) {
      Scope* const around = captured_scope();
      state.recurse = [this, &node, around, depth](Meter&, const Value& inner) {
        Scope* const calling = std::exchange(scope_, around);
        Text text = captured([&] { loop(node, inner, depth + 1); });
        scope_ = calling;
        return Value::string(std::move(text));
      };
    }
    for (state.index0 = 0; state.index0 < state.items.size(); ++state.index0) {
      const Flow flow = inside(scope_, [&] {
        assign(node.target, state.items[state.index0]);
        scope_->variables.insert_or_assign("loop", Value::loop(&state));
        return run(node.body);
      });
      if (flow == Flow::leave_loop) break;
    }
  }

  Text body_text(const Block& body) {
    return captured([&] { inside(scope_, [&] { run(body); }); });
  }

  // --- Macros ----------------------------------------------------------------------------------

  Value function_of(const Macro& macro) {
    Scope* const home = captured_scope();
    return Value::function({macro.name, [this, &macro, home](Meter&, const Arguments& arguments) {
                              return call_macro(macro, home, arguments);
                            }});
  }

  Value call_macro(const Macro& macro, Scope* home, const Arguments& arguments) {
    const Meter::Level level(meter_);
    Scope* const calling = scope_;
    Text text = captured([&] {
      inside(home, [&] {
        bind(macro, arguments);
        run(macro.body);
      });
    });
    scope_ = calling;
    return Value::string(std::move(text));
  }

  void bind(const Macro& macro, const Arguments& arguments) {
    const size_t n_given = std::min(arguments.positional.size(), macro.parameters.size());
    std::vector<std::pair<std::string, Value>> named = arguments.named;
    const auto take = [&](const std::string& name) -> std::optional<Value> {
      meter_.step(named.size() / kEntriesPerStep);
      for (auto& [known, value] : named) {
        if (known != name) continue;
        Value taken = std::move(value);
        known.clear();
        return taken;
      }
      return std::nullopt;
    };
    auto& variables = scope_->variables;
    for (size_t i = 0; i < macro.parameters.size(); ++i) {
      const Parameter& parameter = macro.parameters[i];
      auto given = i < n_given ? std::optional(arguments.positional[i]) : take(parameter.name);
      if (!given) {
        given =
            parameter.otherwise
                ? eval(parameter.otherwise)
                : Value::undefined(fmt::format("parameter '{}' was not provided", parameter.name));
      }
      variables.insert_or_assign(parameter.name, *std::move(given));
    }
    if (macro.takes_caller && !variables.contains("caller")) {
      variables["caller"] = take("caller").value_or(Value::undefined("no caller defined"));
    }
    bind_rest(macro, arguments, n_given, named);
  }

  // Arguments that no parameter took.
  void bind_rest(const Macro& macro,
                 const Arguments& arguments,
                 size_t n_given,
                 const std::vector<std::pair<std::string, Value>>& named) {
    std::vector<Value> more(arguments.positional.begin() + static_cast<std::ptrdiff_t>(n_given),
                            arguments.positional.end());
    Dict more_named;
    for (const auto& [name, value] : named) {
      if (!name.empty()) more_named.set(Value::string(name, arguments.names), value);
    }
    if (macro.takes_more_named) {
      scope_->variables.insert_or_assign("kwargs", Value::dict(std::move(more_named)));
    } else if (more_named.size() > 0) {
      meter_.fail(fmt::format("macro '{}': no parameter '{}'", macro.name,
                              more_named.entries()[0].first.as_string()->bytes()));
    }
    if (macro.takes_more_positional) {
      scope_->variables.insert_or_assign("varargs", Value::tuple(std::move(more)));
    } else if (!more.empty()) {
      meter_.fail(
          fmt::format("macro '{}': more than {} arguments", macro.name, macro.parameters.size()));
    }
  }

  // --- Expressions -----------------------------------------------------------------------------

  Value eval(ExprPtr expr) {
    const Meter::Level level(meter_);
    meter_.step();
    const Position outer = std::exchange(meter_.at, expr->at);
    Value value =
        std::visit([&](const auto& node) { return eval_node(node, expr->at); }, expr->node);
    meter_.at = outer;
    return value;
  }
  Value eval_or_none(ExprPtr expr) { return expr ? eval(expr) : Value(); }

  Value eval_node(const Literal& node, Position) { return node.value; }
  Value eval_node(const Name& node, Position) {
    const Value* found = find(node.name);
    return found ? *found : Value::undefined(fmt::format("'{}' is undefined", node.name));
  }
  Value eval_node(const ListDisplay& node, Position) {
    std::vector<Value> items;
    meter_.values(node.items.size());
    for (ExprPtr item : node.items) items.push_back(eval(item));
    return node.is_tuple ? Value::tuple(std::move(items)) : Value::list(std::move(items));
  }
  Value eval_node(const DictDisplay& node, Position) {
    Dict dict;
    meter_.values(2 * node.entries.size());
    for (const auto& [key_expr, value_expr] : node.entries) {
      Value key = eval(key_expr);
      if (!Dict::is_key(key)) meter_.fail(fmt::format("a {} is no key", key.type_name()));
      dict.set(std::move(key), eval(value_expr));
    }
    return Value::dict(std::move(dict));
  }
  Value eval_node(const Attribute& node, Position) {
    return attribute(meter_, eval(node.object), node.name);
  }
  Value eval_node(const Subscript& node, Position) {
    const Value object = eval(node.object);
    return item(meter_, object, eval(node.index));
  }
  Value eval_node(const SliceOf& node, Position) {
    const Value object = eval(node.object);
    const Value start = eval_or_none(node.start), stop = eval_or_none(node.stop);
    return slice_of(meter_, object, start, stop, eval_or_none(node.step));
  }
  Value eval_node(const Call& node, Position) {
    const Value callee = eval(node.callee);
    return call_value(callee, eval(node.arguments));
  }
  Value eval_node(const FilterUse& node, Position) {
    return apply(node, eval(node.input), eval(node.arguments));
  }
  Value eval_node(const TestUse& node, Position) {
    const Test test = find_test(node.name);
    if (!test) meter_.fail(fmt::format("there is no test '{}'", node.name));
    const Value input = eval(node.input);
    if (const Text* text = input.as_string()) meter_.text(text->size());
    return Value::boolean(test(meter_, input, eval(node.arguments)));
  }
  Value eval_node(const Unary& node, Position) {
    const Value operand = eval(node.operand);
    switch (node.op) {
      case Unary::Op::logical_not:
        return Value::boolean(!operand.truthy());
      case Unary::Op::negative:
        return negative(meter_, operand);
      case Unary::Op::positive:
        return negative(meter_, negative(meter_, operand));
    }
    return {};
  }
  Value eval_node(const Binary& node, Position) {
    Value left = eval(node.left);
    if (node.op == Binary::Op::logical_and) return left.truthy() ? eval(node.right) : left;
    if (node.op == Binary::Op::logical_or) return left.truthy() ? left : eval(node.right);
    return arithmetic(meter_, node.op, left, eval(node.right));
  }
  Value eval_node(const Comparison& node, Position) {
    Value left = eval(node.first);
    for (const auto& [op, expr] : node.rest) {
      Value right = eval(expr);
      if (!compare(meter_, op, left, right)) return Value::boolean(false);
      left = std::move(right);
    }
    return Value::boolean(true);
  }
  Value eval_node(const Concat& node, Position) {
    std::vector<Text> parts;
    size_t size = 0;
    for (ExprPtr part : node.parts) {
      parts.push_back(to_text(meter_, eval(part)));
      meter_.grow(size, parts.back().size());
      size += parts.back().size();
    }
    return Value::string(join(meter_, parts, {}));
  }
  Value eval_node(const Conditional& node, Position) {
    if (eval(node.test).truthy()) return eval(node.then);
    if (node.otherwise) return eval(node.otherwise);
    return Value::undefined("the inline if-expression evaluated to false and has no else");
  }

  Arguments eval(const CallArguments& node) {
    Arguments arguments;
    meter_.values(node.positional.size() + node.named.size());
    for (ExprPtr expr : node.positional) arguments.positional.push_back(eval(expr));
    for (const auto& [name, expr] : node.named) arguments.named.emplace_back(name, eval(expr));
    if (node.more_positional) {
      for (Value& more : iterate(meter_, eval(node.more_positional))) {
        arguments.positional.push_back(std::move(more));
      }
    }
    if (node.more_named) {
      const Value more = eval(node.more_named);
      if (!more.is_dict()) meter_.fail("**: expected a mapping");
      for (const auto& [key, value] : more.as_dict()->entries()) {
        if (!key.is_string()) meter_.fail("**: expected names");
        meter_.values(1);
        arguments.named.emplace_back(key.as_string()->bytes(), value);
        arguments.names = std::max(arguments.names, origin_of(*key.as_string()));
      }
    }
    return arguments;
  }

  Value call_value(const Value& callee, const Arguments& arguments) {
    if (const Function* function = callee.as_function()) return function->call(meter_, arguments);
    if (const Undefined* missing = callee.as_undefined()) meter_.fail(missing->what);
    const Loop* recursive = callee.as_loop();
    if (recursive && recursive->recurse && arguments.positional.size() == 1) {
      return recursive->recurse(meter_, arguments.positional[0]);
    }
    meter_.fail(fmt::format("a value of type {} cannot be called", callee.type_name()));
  }

  Value apply(const FilterUse& node, const Value& input, const Arguments& arguments) {
    const Filter filter = find_filter(node.name);
    if (!filter) meter_.fail(fmt::format("there is no filter '{}'", node.name));
    if (const Text* text = input.as_string()) meter_.text(text->size());
    return filter(meter_, input, arguments);
  }

  // The filters of a block on its text; the innermost has no input of its own.
  Value filtered(ExprPtr chain, Value input) {
    const FilterUse& node = std::get<FilterUse>(chain->node);
    if (node.input) input = filtered(node.input, std::move(input));
    meter_.at = chain->at;
    return apply(node, input, eval(node.arguments));
  }

  Meter& meter_;
  std::deque<Namespace> spaces_;
  std::deque<Loop> loops_;
  std::deque<Scope> scopes_;
  Scope global_;
  Scope* scope_ = nullptr;
  Text output_;
};

}  // namespace

Text render(const Program& program, const Dict& variables, std::time_t now, const Limits& limits) {
  Meter meter(limits, now);
  return Evaluator(meter, variables).run(program);
}

}  // namespace maglio::jinja
