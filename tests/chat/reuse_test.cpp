// What a turn computes again, and what it does not.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "support/error_code.h"
#include "support/scripted_chat.h"

namespace maglio::chat {
namespace {

using namespace test::scripted;

Ids copy(std::span<const TokenId> ids) {
  return {ids.begin(), ids.end()};
}

using test::code_of;

// The cache holds what the tokens say.
void expect_consistent(const Talk& talk) {
  const auto cached = talk.cache().ids();
  ASSERT_LE(cached.size(), talk.tokens().size());
  EXPECT_TRUE(std::equal(cached.begin(), cached.end(), talk.tokens().begin()));
}

TEST(Reuse, HistoryIsKeptAsMessages) {
  Chat chat;
  chat.options.system = "S";
  Talk talk = chat.start();
  chat.model.read(thoughtful_script("\nhm\n", "\n\nB"));
  talk.send("A", kIgnore);
  const std::vector<Message> expected = {
      {Role::user, "A"}, {.role = Role::assistant, .content = "B", .reasoning_content = "hm"}};
  EXPECT_EQ(std::vector(talk.messages().begin(), talk.messages().end()), expected);
}

TEST(Reuse, ATurnAfterADeletedThoughtComputesAtMostTheDeletedTurn) {
  Chat chat;
  Talk talk = chat.start();
  chat.model.read(thoughtful_script("long thought about it", "\n\nB"));
  const Reply first = talk.send("A", kIgnore);
  chat.model.read(script("D"));
  const Reply second = talk.send("C", kIgnore);
  // All of the first prompt stays; the answer is told again without its thought.
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens);
  const Ids expected = chat.tokenizer.encode_raw(
      "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
      "<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_EQ(copy(talk.tokens().first(second.prompt_tokens)), expected);
  const Ids turn = chat.tokenizer.encode_raw(
      "<|im_end|>\n<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n");
  EXPECT_LE(second.computed_tokens(), first.ids.size() + turn.size());
  EXPECT_EQ(second.computed_tokens(), 1 + turn.size());  // "B"
  expect_consistent(talk);
  // The third turn finds everything in its place.
  chat.model.read(script("F"));
  EXPECT_EQ(talk.send("E", kIgnore).cached_tokens, second.prompt_tokens + 1);
}

TEST(Reuse, AThoughtCutShortIsDeletedToo) {
  Chat chat;
  chat.options.max_tokens = 5;
  Talk talk = chat.start();
  chat.model.read(thoughtful_script("never ends", "B"));
  const Reply first = talk.send("A", kIgnore);
  EXPECT_EQ(first.finish, FinishReason::length);
  EXPECT_EQ(talk.messages().back().content, "");
  EXPECT_EQ(talk.messages().back().reasoning_content, "neve");
  chat.model.read(script("D"));
  const Reply second = talk.send("C", kIgnore);
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens);
  expect_consistent(talk);
}

TEST(Reuse, SwitchedOffThinkingLeavesOutItsEmptyThoughtLater) {
  Chat chat;
  chat.options.thinking = Thinking::off;
  Talk talk = chat.start();
  chat.model.read(script("B"));
  const Reply first = talk.send("A", kIgnore);
  chat.model.read(script("D"));
  const Reply second = talk.send("C", kIgnore);
  const Ids empty_thought = chat.tokenizer.encode_raw("<think>\n\n</think>\n\n");
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens - empty_thought.size());
  EXPECT_EQ(chat.tokenizer.decode(talk.tokens().first(second.prompt_tokens),
                                  Tokenizer::SpecialText::shown),
            "<|im_start|>user\nA<|im_end|>\n<|im_start|>assistant\nB<|im_end|>\n"
            "<|im_start|>user\nC<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
}

// "\n\n" is one token when encoded, and two here, because the model said so.
TEST(Reuse, GeneratedIdsStayAlthoughTheirTextWouldGiveOthers) {
  Chat chat;
  Talk talk = chat.start();
  chat.model.read(script("B\n\nC"));
  const Reply first = talk.send("A", kIgnore);
  ASSERT_NE(chat.tokenizer.encode_raw("B\n\nC"), first.ids);
  chat.model.read(script("E"));
  const Reply second = talk.send("D", kIgnore);
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens + first.ids.size());
  EXPECT_EQ(copy(talk.tokens().subspan(first.prompt_tokens, 4)), first.ids);
}

TEST(Reuse, AnAnswerCutInACharacterStaysAsItIs_B32) {
  Chat chat;
  chat.options.max_tokens = 2;
  Talk talk = chat.start();
  chat.model.read(bytes("a\xf0\x9f\x98\x80"));
  const Reply first = talk.send("A", kIgnore);
  EXPECT_EQ(first.text, "a\xef\xbf\xbd");
  chat.model.read(script("D"));
  EXPECT_EQ(talk.send("C", kIgnore).cached_tokens, first.prompt_tokens + 1);  // 0xf0 was not fed
  EXPECT_EQ(talk.tokens()[first.prompt_tokens + 1], 0xf0);
}

TEST(Reuse, WhatAStopStringCutOffIsNotSaidLater) {
  Chat chat;
  chat.options.stop.strings = {"DEF"};
  Talk talk = chat.start();
  chat.model.read(script("ABCDEFG"));
  const Reply first = talk.send("Q", kIgnore);
  EXPECT_EQ(talk.fired_stop(), 0u);
  EXPECT_EQ(talk.messages().back().content, "ABC");
  chat.model.read(script("x"));
  const Reply second = talk.send("R", kIgnore);
  EXPECT_EQ(second.cached_tokens, first.prompt_tokens + 3);
  EXPECT_FALSE(talk.fired_stop());
  EXPECT_EQ(talk.tokens()[first.prompt_tokens + 3], kEnd);
}

TEST(Reuse, AnotherSystemMessageIsAnotherBeginning) {
  Chat chat;
  chat.options.system = "S";
  Talk talk = chat.start();
  talk.send("A", kIgnore);
  talk.set_system("T");
  const Reply second = talk.send("C", kIgnore);
  const Ids shared = chat.tokenizer.encode_raw("<|im_start|>system\n");
  EXPECT_EQ(second.cached_tokens, shared.size());
  EXPECT_EQ(talk.reused_prefix(), shared.size());
  expect_consistent(talk);
}

TEST(Reuse, RenderedPromptsComputeOnlyWhatIsNew_B100) {
  Chat chat;
  Talk talk = chat.start();
  const auto ask = [&](std::string_view text) {
    chat.model.read(script("ok"));
    return talk.send_rendered_reuse(Rendered().marker("<|im_start|>").words(text), kIgnore);
  };
  EXPECT_EQ(ask("abcdef").cached_tokens, 0u);
  EXPECT_EQ(ask("abcxyz").cached_tokens, 4u);
  EXPECT_EQ(ask("abcxyz").cached_tokens, 6u);  // the last token is computed for its logits
  EXPECT_EQ(ask("abc").cached_tokens, 3u);
  EXPECT_EQ(ask("zbc").cached_tokens, 1u);
  expect_consistent(talk);
  EXPECT_EQ(code_of([&] { talk.send("A", kIgnore); }), "UnknownHistory");
  EXPECT_TRUE(talk.messages().empty());
  EXPECT_FALSE(talk.undo_turn());
  talk.clear();
  EXPECT_EQ(code_of([&] { talk.send("A", kIgnore); }), "none");
}

TEST(Reuse, PromptsOfIdsComputeOnlyWhatIsNew_B99) {
  Chat chat;
  Talk talk = chat.start();
  const auto ask = [&](const Ids& ids) {
    chat.model.read(script("ok"));
    return talk.send_tokens_reuse(ids, kIgnore);
  };
  EXPECT_EQ(ask({1, 2, 3}).cached_tokens, 0u);
  EXPECT_EQ(ask({1, 2, 3}).cached_tokens, 2u);
  EXPECT_EQ(ask({1, 2, 3, 'o', 'k', 4}).cached_tokens, 5u);
  EXPECT_EQ(talk.regenerate(kIgnore).cached_tokens, 5u);
  EXPECT_EQ(ask({1}).cached_tokens, 0u);
  EXPECT_EQ(code_of([&] { ask({}); }), "EmptyPrompt");
  const Ids before = copy(talk.tokens());
  EXPECT_EQ(code_of([&] { ask(Ids(500, 1)); }), "ContextFull");
  EXPECT_EQ(copy(talk.tokens()), before);  // all of it, not only what the two have in common
  expect_consistent(talk);
}

TEST(Reuse, ARenderedTurnContinuesWhatWasSaid) {
  Chat chat;
  Talk talk = chat.start(Family::llama3);
  talk.send_rendered(Rendered().words("a"), kIgnore);
  EXPECT_EQ(talk.tokens().front(), kVocabulary.special_id("<s>"));
  talk.send_rendered(Rendered().words("b"), kIgnore);
  EXPECT_EQ(copy(talk.tokens().subspan(1)), bytes("ab"));
}

TEST(Reuse, AWarmStartComputesOnlyWhatFollows) {
  Chat chat;
  chat.options.system = "S";
  Talk talk = chat.start();
  chat.model.read(script("B"));
  const Reply first = talk.send("A", kIgnore);
  Talk::Warm warm = talk.take_cache();
  EXPECT_TRUE(talk.tokens().empty());
  EXPECT_TRUE(talk.messages().empty());
  EXPECT_EQ(talk.cache().length(), 0u);

  Talk other = chat.start();
  other.init_warm(std::move(warm));
  EXPECT_EQ(other.send("A", kIgnore).cached_tokens, first.prompt_tokens - 1);
  expect_consistent(other);
}

TEST(Reuse, AWarmStartThatDoesNotFitIsRefused) {
  Chat chat;
  Talk talk = chat.start();
  test::ScriptedCache full = chat.model.new_cache(500);
  full.append(Ids{1, 2, 3});
  EXPECT_EQ(code_of([&] { talk.init_warm({full, {1, 2}}); }), "InvalidPrefix");
  EXPECT_EQ(code_of([&] { talk.init_warm({chat.model.new_cache(400), {1, 2}}); }),
            "MismatchedKvCaches");
  EXPECT_TRUE(talk.tokens().empty());
}

TEST(Reuse, UndoForgetsTheLastTurn) {
  Chat chat;
  Talk talk = chat.start();
  EXPECT_FALSE(talk.undo_turn());
  chat.model.read(script("B"));
  const Reply first = talk.send("A", kIgnore);
  const Ids after_first = copy(talk.tokens());
  talk.send("C", kIgnore);
  talk.regenerate(kIgnore);
  EXPECT_TRUE(talk.undo_turn());
  EXPECT_EQ(talk.messages().size(), 2u);
  EXPECT_EQ(copy(talk.tokens()), after_first);
  EXPECT_TRUE(talk.has_answer());
  expect_consistent(talk);
  chat.model.read(script("D"));
  EXPECT_EQ(talk.send("C", kIgnore).cached_tokens, first.prompt_tokens + 1);
  EXPECT_TRUE(talk.undo_turn());
  EXPECT_TRUE(talk.undo_turn());
  EXPECT_TRUE(talk.tokens().empty());
  EXPECT_FALSE(talk.has_answer());
}

TEST(Reuse, AfterAnUndoTheAnswerBeforeCanBeGivenAgain) {
  Chat chat;
  Talk talk = chat.start();
  chat.model.read(script("B"));
  const Reply first = talk.send("A", kIgnore);
  talk.send("C", kIgnore);
  talk.undo_turn();
  chat.model.read(script("X"));
  const Reply again = talk.regenerate(kIgnore);
  EXPECT_EQ(again.text, "X");
  EXPECT_EQ(again.prompt_tokens, first.prompt_tokens);
  EXPECT_EQ(talk.messages().size(), 2u);
}

TEST(Reuse, AForkGoesItsOwnWay) {
  Chat chat;
  Talk talk = chat.start();
  chat.model.read(script("B"));
  const Reply first = talk.send("A", kIgnore);
  Talk other = talk.fork();
  chat.model.read(script("D"));
  EXPECT_EQ(other.send("C", kIgnore).cached_tokens, first.prompt_tokens + 1);
  EXPECT_EQ(talk.messages().size(), 2u);
  EXPECT_EQ(other.messages().size(), 4u);
  chat.model.read(script("F"));
  EXPECT_EQ(talk.send("E", kIgnore).cached_tokens, first.prompt_tokens + 1);
  expect_consistent(talk);
  expect_consistent(other);
}

TEST(Reuse, TheOldestTurnsAreDroppedWhereAskedFor) {
  Chat chat;
  chat.options = {.system = "S", .context_size = 160, .max_tokens = 8};
  chat.options.overflow = Overflow::drop_oldest;
  Talk talk = chat.start();
  chat.model.read(script("B"));
  size_t dropped = 0;
  for (int i = 0; i < 6; ++i) {
    const Reply reply = talk.send("question " + std::to_string(i), kIgnore);
    dropped += reply.dropped_messages;
    EXPECT_LE(reply.prompt_tokens + 8, 160u);
    EXPECT_EQ(talk.messages().size() + dropped, 2u * static_cast<size_t>(i + 1));
    EXPECT_TRUE(chat.tokenizer.decode(talk.tokens()).starts_with("system\nS\n")) << i;
    EXPECT_EQ(talk.messages().front().role, Role::user);
    expect_consistent(talk);
  }
  EXPECT_GT(dropped, 0u);
  // A turn that does not fit alone is refused, and nothing is dropped for it.
  const auto before = talk.messages().size();
  EXPECT_EQ(code_of([&] { talk.send(std::string(200, 'x'), kIgnore); }), "ContextFull");
  EXPECT_EQ(talk.messages().size(), before);
}

TEST(Reuse, ExtraStopIdsEndAnAnswer) {
  Chat chat;
  chat.options.extra_stop_ids = {'!'};
  chat.options.stop.ignore_end_tokens = true;
  Talk talk = chat.start();
  chat.model.read({'a', kText, 'b', '!', 'c'});
  const Reply reply = talk.send("A", kIgnore);
  EXPECT_EQ(reply.ids, (Ids{'a', kText, 'b'}));
  EXPECT_EQ(reply.finish, FinishReason::stop);
}

TEST(Reuse, AFailedAnswerLeavesTheHistoryAsItWas_B102) {
  Chat chat;
  Talk talk = chat.start();
  chat.model.read(script("B"));
  talk.send("A", kIgnore);
  const TextSink broken = [](std::string_view) -> bool { throw std::runtime_error("gone"); };
  chat.model.read(script("D"));
  EXPECT_THROW(talk.send("C", broken), std::runtime_error);
  EXPECT_EQ(talk.messages().size(), 2u);
  EXPECT_TRUE(talk.has_answer());
  expect_consistent(talk);
  chat.model.read(script("D"));
  EXPECT_EQ(talk.send("C", kIgnore).text, "D");
}

TEST(Reuse, SettingsCanBeChangedBetweenTurns) {
  Chat chat;
  Talk talk = chat.start();
  talk.set_max_tokens(1);
  chat.model.read(script("BCD"));
  EXPECT_EQ(talk.send("A", kIgnore).text, "B");
  talk.set_max_tokens({});
  talk.set_stop({.strings = {"D"}});
  chat.model.read(script("BCD"));
  EXPECT_EQ(talk.regenerate(kIgnore).text, "BC");
  talk.set_thinking(Thinking::off);
  talk.send("E", kIgnore);
  EXPECT_EQ(std::ranges::count(talk.tokens(), kThinkEnd), 1);
  EXPECT_EQ(code_of([&] { talk.set_sampler({.top_p = 2}); }), "BadSamplerConfig");
  EXPECT_EQ(talk.options().sampler, SamplerConfig());
}

}  // namespace
}  // namespace maglio::chat
