// Several conversations with one model answer together: each step reads the weights once for all.
//
// Each answer is the one that its conversation would give alone, bit for bit, and what goes wrong
// in one of them stays there.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "chat/conversation.h"
#include "decode/generate.h"
#include "maglio/batch.h"

namespace maglio::chat {

// A turn of one of them. Borrows all for the call.
template <LanguageModel Model, TextTokenizer Text>
struct BatchTurn {
  Conversation<Model, Text>* conversation = nullptr;
  std::string_view user = {};
  TextSink sink = {};
  Constraint* constraint = nullptr;
};

template <LanguageModel Model, TextTokenizer Text>
class Batch {
 public:
  using Talk = Conversation<Model, Text>;
  using Turn = BatchTurn<Model, Text>;

  static std::vector<BatchOutcome> send(std::span<const Turn> turns) {
    check(turns);
    std::vector<Course> courses(turns.size());
    for (size_t i = 0; i < turns.size(); ++i) {
      attempt(courses[i], [&] { courses[i].begin(turns[i]); });
    }
    generate(courses);
    std::vector<BatchOutcome> outcomes;
    for (Course& course : courses) {
      if (!course.outcome.error) attempt(course, [&] { course.end(); });
      course.undo.reset();
      outcomes.push_back(std::move(course.outcome));
    }
    return outcomes;
  }

 private:
  // One conversation's turn under way.
  struct Course {
    Talk* talk = nullptr;
    Plan plan = {};
    std::unique_ptr<typename Talk::Undo> undo = {};
    std::unique_ptr<Answer<Model, typename Talk::Decoder>> answer = {};
    Ending ending = {};
    BatchOutcome outcome = {};

    void begin(const Turn& turn) {
      talk = turn.conversation;
      plan = talk->plan(talk->with_question(turn.user));
      talk->begin(plan);
      undo = std::make_unique<typename Talk::Undo>(talk);
      answer.reset(new auto(talk->open_answer(turn.sink, turn.constraint)));
    }
    void end() {
      if (ending.error) std::rethrow_exception(ending.error);
      Reply reply = answer->reply(ending.finish);
      undo->keep();
      talk->end(std::move(plan), reply);
      talk->keep_in_file();
      outcome.reply = std::move(reply);
    }
  };

  static void attempt(Course& course, auto&& act) {
    try {
      act();
    } catch (...) {
      course.outcome.error = std::current_exception();
    }
  }

  static void generate(std::vector<Course>& courses) {
    std::vector<Course*> going;
    std::vector<Stream<Model>> streams;
    for (Course& course : courses) {
      if (course.outcome.error) continue;
      going.push_back(&course);
      streams.push_back(course.answer->stream());
    }
    if (going.empty()) return;
    const std::vector<Ending> endings = generate_together<Model>(streams);
    for (size_t i = 0; i < going.size(); ++i) going[i]->ending = endings[i];
  }

  static void check(std::span<const Turn> turns) {
    if (turns.empty()) {
      throw Error(ErrorKind::bad_request, "EmptyBatch", "a batch needs at least one turn");
    }
    if (turns.size() > 1 && !BatchLanguageModel<Model>) {
      throw Error(ErrorKind::unsupported, "BatchDecodeUnsupported",
                  "this model computes one sequence at a time: send the turns one by one");
    }
    for (size_t i = 1; i < turns.size(); ++i) {
      for (const Turn& other : turns.first(i)) check_pair(turns[i], other);
    }
  }

  static void check_pair(const Turn& a, const Turn& b) {
    if (a.conversation->model_ != b.conversation->model_) {
      throw Error(ErrorKind::bad_request, "MixedModels",
                  "conversations with several models cannot share a pass: send them apart");
    }
    if (a.conversation == b.conversation) {
      throw Error(ErrorKind::bad_request, "MismatchedKvCaches",
                  "a conversation stands in the batch twice: one turn at a time");
    }
    check_same_kind(a.conversation->cache_, b.conversation->cache_);
    if (a.constraint != nullptr && a.constraint == b.constraint) {
      throw Error(ErrorKind::bad_request, "SharedConstraint",
                  "two conversations share a constraint: give each its own");
    }
  }
};

// Outcome i is of turn i.
// Throws: Error bad_request "EmptyBatch", "MismatchedKvCaches" for a conversation that stands there
// twice or caches of different types, "MixedModels", "SharedConstraint"; unsupported
// "BatchDecodeUnsupported" for several turns with a model without a batch entry. Nothing was done
// then.
template <LanguageModel Model, TextTokenizer Text>
std::vector<BatchOutcome> send_batch(std::span<const BatchTurn<Model, Text>> turns) {
  return Batch<Model, Text>::send(turns);
}

}  // namespace maglio::chat
