// Conversations on disk.
#include "chat/conversation_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "chat/record_bytes.h"
#include "support/error_code.h"
#include "support/small_chat.h"
#include "support/temp_dir.h"

namespace maglio::chat {
namespace {

using namespace test::small;

using test::code_of;

std::string contents(const std::filesystem::path& path) {
  const MappedFile file = MappedFile::open(path);
  return std::string(as_text(file.bytes()));
}

void put(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

void expect_equal(const Talk& a, const Talk& b) {
  EXPECT_TRUE(std::ranges::equal(a.tokens(), b.tokens()));
  EXPECT_TRUE(std::ranges::equal(a.messages(), b.messages()));
  ASSERT_EQ(a.cache().length(), b.cache().length());
  std::vector<std::byte> of_a(a.cache().block_bytes()), of_b(of_a);
  for (size_t i = 0; i < a.cache().n_blocks(); ++i) {
    a.cache().copy_block(i, of_a);
    b.cache().copy_block(i, of_b);
    EXPECT_EQ(of_a, of_b);
  }
}

const char* const kQuestions[] = {"Hello.", "And then?", "Why\nso?"};

void expect_the_same_bits_after_loading(SmallChat chat) {
  for (const CacheType type : {CacheType::f16, CacheType::q8_0}) {
    chat.options.system = "Be brief.";
    Talk straight = chat.talk(type);
    for (const char* question : {kQuestions[0], kQuestions[1]}) straight.send(question, kIgnore);
    const test::TempDir dir;
    straight.save(dir / "c");
    chat.options.system = {};
    Talk loaded = chat.talk(type);
    loaded.send("Something else.", kIgnore);
    loaded.load(dir / "c");
    expect_equal(loaded, straight);
    EXPECT_EQ(loaded.options().system, "Be brief.");
    const Reply expected = straight.send(kQuestions[2], kIgnore);
    const Reply reply = loaded.send(kQuestions[2], kIgnore);
    EXPECT_EQ(reply.ids, expected.ids);
    EXPECT_EQ(reply.computed_tokens(), expected.computed_tokens());
    EXPECT_EQ(loaded.regenerate(kIgnore).ids, straight.regenerate(kIgnore).ids);
    expect_equal(loaded, straight);
  }
}

TEST(ConversationFile, ALoadedConversationGoesOnWithTheSameBits) {
  expect_the_same_bits_after_loading(SmallChat());
}

TEST(ConversationFile, AndSoDoesOneWithAMixture) {
  expect_the_same_bits_after_loading(SmallChat(Architecture::qwen3moe));
}

TEST(ConversationFile, WithAnotherSeedTheSamplerIsItsOwn) {
  SmallChat chat;
  Talk talk = chat.talk();
  talk.send(kQuestions[0], kIgnore);
  const test::TempDir dir;
  talk.save(dir / "c");
  chat.options.sampler.seed = 8;
  Talk other = chat.talk();
  other.load(dir / "c");
  EXPECT_NE(other.send(kQuestions[1], kIgnore).ids, talk.send(kQuestions[1], kIgnore).ids);
}

TEST(ConversationFile, EveryTurnIsKeptAndTheNextProcessGoesOn) {
  SmallChat chat;
  Talk straight = chat.talk();
  const test::TempDir dir;
  chat.options.file = dir / "c";
  for (const char* question : kQuestions) {
    Talk talk = chat.talk();  // a new one for each turn
    EXPECT_EQ(talk.send(question, kIgnore).ids, straight.send(question, kIgnore).ids);
    expect_equal(talk, straight);
  }
  {
    Talk last = chat.talk();
    last.undo_turn();
    straight.undo_turn();
    EXPECT_EQ(last.send("No.", kIgnore).ids, straight.send("No.", kIgnore).ids);
  }
  expect_equal(chat.talk(), straight);
}

TEST(ConversationFile, WhatIsForgottenIsForgottenInItAtOnce) {
  SmallChat chat;
  const test::TempDir dir;
  Talk other = chat.talk();
  other.send("Something else.", kIgnore);
  other.save(dir / "other");
  chat.options.file = dir / "c";
  const auto reopened = [&](auto&& change) {
    {
      Talk talk = chat.talk();
      talk.clear();
      for (const char* question : {kQuestions[0], kQuestions[1]}) talk.send(question, kIgnore);
      change(talk);
    }
    return chat.talk();
  };
  EXPECT_EQ(reopened([](Talk& talk) { talk.undo_turn(); }).messages().size(), 2u);
  EXPECT_TRUE(reopened([](Talk& talk) { talk.clear(); }).messages().empty());
  EXPECT_TRUE(reopened([](Talk& talk) { talk.take_cache(); }).tokens().empty());
  {
    const Talk warm = reopened([&](Talk& talk) { talk.init_warm(other.fork().take_cache()); });
    EXPECT_TRUE(std::ranges::equal(warm.tokens(), other.tokens()));
  }
  expect_equal(reopened([&](Talk& talk) { talk.load(dir / "other"); }), other);
}

TEST(ConversationFile, WithoutAWholeTurnLeavesTheConversationAsItWasMade) {
  SmallChat chat;
  chat.options.system = "Be brief.";
  chat.options.thinking = Thinking::off;
  chat.options.sampler = {.temperature = 0.9f, .seed = 0};
  Talk straight = chat.talk();
  const test::TempDir dir;
  chat.options.file = dir / "c";
  { const Talk says_nothing = chat.talk(); }
  Talk talk = chat.talk();
  EXPECT_EQ(talk.options().system, "Be brief.");
  EXPECT_EQ(talk.options().thinking, Thinking::off);
  for (const char* question : kQuestions) {
    EXPECT_EQ(talk.send(question, kIgnore).ids, straight.send(question, kIgnore).ids);
  }
}

TEST(ConversationFile, ThatHoldsNoTurnYetIsLoadedAsAnEmptyConversation) {
  SmallChat chat;
  chat.options.system = "Be brief.";
  chat.options.sampler = {.temperature = 0.9f, .seed = 0};
  const test::TempDir dir;
  put(dir / "nothing", "");
  chat.options.file = dir / "head";
  { const Talk says_nothing = chat.talk(); }
  chat.options.file.clear();
  for (const char* name : {"nothing", "head"}) {
    Talk talk = chat.talk(), straight = chat.talk();
    for (Talk* one : {&talk, &straight}) one->send(kQuestions[0], kIgnore);
    talk.load(dir / name);
    straight.clear();
    expect_equal(talk, straight);
    EXPECT_EQ(talk.options().system, "Be brief.");
    talk.save(dir / "again");
    EXPECT_EQ(code_of([&] { talk.load(dir / "again"); }), "none");
    EXPECT_EQ(talk.send(kQuestions[1], kIgnore).ids, straight.send(kQuestions[1], kIgnore).ids);
  }
}

TEST(ConversationFile, ATurnAppendsWhatItChangedAndNoMore) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  chat.options.context_size = 2000;
  Talk talk = chat.talk();
  talk.send(std::string(900, 'x'), kIgnore);
  const auto before = std::filesystem::file_size(dir / "c");
  EXPECT_GE(before, 14 * talk.cache().block_bytes());
  const size_t old_positions = talk.cache().length();
  talk.send("y", kIgnore);
  const auto added = std::filesystem::file_size(dir / "c") - before;
  const size_t n_blocks = talk.cache().n_blocks() - old_positions / kPageKeys;
  EXPECT_LE(n_blocks, 3u);
  EXPECT_GE(added, n_blocks * talk.cache().block_bytes());
  EXPECT_LE(added, n_blocks * talk.cache().block_bytes() + 4000);
}

TEST(ConversationFile, WhatIsMostlyDeadIsWrittenAnew) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  Talk talk = chat.talk();
  talk.send("Hello.", kIgnore);
  size_t largest = 0;
  for (int i = 0; i < 60; ++i) {
    talk.regenerate(kIgnore);
    largest = std::max<size_t>(largest, std::filesystem::file_size(dir / "c"));
  }
  const size_t turn = 2 * talk.cache().block_bytes() + 4000;
  EXPECT_GT(largest, (size_t{1} << 20));
  EXPECT_LE(largest, (size_t{1} << 20) + 2 * talk.cache().bytes() + turn);
  chat.options.file.clear();
  Talk other = chat.talk();
  other.load(dir / "c");
  expect_equal(other, talk);
}

TEST(ConversationFile, AForkIsNotKeptInIt) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  Talk talk = chat.talk();
  talk.send("Hello.", kIgnore);
  const std::string kept = contents(dir / "c");
  Talk fork = talk.fork();
  fork.send("And then?", kIgnore);
  EXPECT_EQ(contents(dir / "c"), kept);
}

TEST(ConversationFile, CutAnywhereItHoldsTheTurnsThatAreWhole) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  std::vector<size_t> ends;
  size_t head = 0;
  {
    Talk talk = chat.talk();
    head = std::filesystem::file_size(dir / "c");
    for (const char* question : kQuestions) {
      talk.send(question, kIgnore);
      ends.push_back(std::filesystem::file_size(dir / "c"));
    }
  }
  const std::string whole = contents(dir / "c");
  std::vector<size_t> cuts;
  for (size_t n = 0; n < whole.size(); n += n < 200 ? 1 : 997) cuts.push_back(n);
  for (const size_t end : ends) cuts.insert(cuts.end(), {end - 1, end, end + 1, end + 20});
  chat.options.file.clear();
  Talk talk = chat.talk();
  for (const size_t n : cuts) {
    put(dir / "cut", std::string_view(whole).substr(0, n));
    const auto turns =
        static_cast<size_t>(std::ranges::count_if(ends, [n](size_t end) { return end <= n; }));
    if (turns == 0 && n > head) {
      const size_t n_before = talk.messages().size();
      EXPECT_EQ(code_of([&] { talk.load(dir / "cut"); }), "DamagedConversation") << n;
      EXPECT_EQ(talk.messages().size(), n_before);
      continue;
    }
    talk.load(dir / "cut");
    EXPECT_EQ(talk.messages().size(), 2 * turns) << n;
    const size_t size = std::min(n, whole.size()), whole_end = turns > 0 ? ends[turns - 1] : size;
    EXPECT_EQ(talk.found_in_file().turns, turns) << n;
    EXPECT_EQ(talk.found_in_file().lost_bytes, size - whole_end) << n;
    EXPECT_EQ(talk.found_in_file().lost_turns, size > whole_end ? 1u : 0u) << n;
  }
  // A torn file is gone on with, behind its last whole turn.
  put(dir / "cut", std::string_view(whole).substr(0, ends[1] + 100));
  chat.options.file = dir / "cut";
  Talk resumed = chat.talk();
  resumed.send(kQuestions[2], kIgnore);
  EXPECT_EQ(contents(dir / "cut"), whole);
}

TEST(ConversationFile, ChangedBytesGiveAnErrorOrFewerTurns) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  {
    Talk talk = chat.talk();
    for (const char* question : kQuestions) talk.send(question, kIgnore);
  }
  std::string bytes = contents(dir / "c");
  chat.options.file.clear();
  Talk talk = chat.talk();
  talk.load(dir / "c");
  ASSERT_EQ(talk.messages().size(), 6u);
  for (size_t at = 0; at < bytes.size(); at += at < 300 ? 1 : 1009) {
    bytes[at] ^= 16;
    put(dir / "changed", bytes);
    const std::string code = code_of([&] { talk.load(dir / "changed"); });
    if (code == "none") {
      EXPECT_LT(talk.messages().size(), 6u) << at;
    }
    bytes[at] ^= 16;
  }
}

TEST(ConversationFile, DamagedBehindATurnSaysWhatIsLost) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  size_t first_end = 0;
  {
    Talk talk = chat.talk();
    for (const char* question : kQuestions) {
      talk.send(question, kIgnore);
      if (first_end == 0) first_end = std::filesystem::file_size(dir / "c");
    }
  }
  const std::string whole = contents(dir / "c");
  for (const size_t at : {first_end + 100, first_end + 9}) {  // in a payload, in its checksum
    std::string bytes = whole;
    bytes[at] ^= 1;
    put(dir / "c", bytes);
    Talk talk = chat.talk();
    EXPECT_EQ(talk.messages().size(), 2u);
    EXPECT_EQ(talk.found_in_file().turns, 1u);
    EXPECT_EQ(talk.found_in_file().lost_turns, 2u);
    EXPECT_EQ(talk.found_in_file().lost_bytes, whole.size() - first_end);
  }
  std::string bytes = whole;
  bytes[first_end + 7] ^= 1;  // a size that cannot be: nobody knows how many
  put(dir / "c", bytes);
  EXPECT_EQ(chat.talk().found_in_file().lost_turns, 1u);
}

TEST(ConversationFile, BelongsToOneModelAndOneKindOfCache) {
  SmallChat chat;
  Talk talk = chat.talk();
  talk.send("Hello.", kIgnore);
  const test::TempDir dir;
  talk.save(dir / "c");
  const std::string saved = contents(dir / "c");
  Talk other_cache = chat.talk(CacheType::q8_0);
  EXPECT_EQ(code_of([&] { other_cache.load(dir / "c"); }), "MismatchedKvCaches");
  chat.binding.model = 4321;
  Talk other_model = chat.talk();
  EXPECT_EQ(code_of([&] { other_model.load(dir / "c"); }), "ConversationOfAnotherModel");
  chat.options.file = dir / "c";
  EXPECT_EQ(code_of([&] { chat.talk(); }), "ConversationOfAnotherModel");
  EXPECT_EQ(contents(dir / "c"), saved);  // nobody has written to it
  put(dir / "text", "Dear diary, " + std::string(1000, 'x'));
  EXPECT_EQ(code_of([&] { talk.load(dir / "text"); }), "NotAConversation");
  EXPECT_EQ(code_of([&] { talk.load(dir / "absent"); }), "CannotOpenFile");
  EXPECT_EQ(code_of([&] { talk.load(dir.path()); }), "NotAFile");
  EXPECT_EQ(talk.messages().size(), 2u);  // as it was
}

TEST(ConversationFile, ThatIsTooLongForTheContextIsRefused) {
  SmallChat chat;
  Talk talk = chat.talk();
  talk.send(std::string(200, 'x'), kIgnore);
  const test::TempDir dir;
  talk.save(dir / "c");
  chat.options.context_size = 100;
  Talk small = chat.talk();
  EXPECT_EQ(code_of([&] { small.load(dir / "c"); }), "ContextFull");
}

TEST(ConversationFile, InUseIsRefused) {
  SmallChat chat;
  const test::TempDir dir;
  chat.options.file = dir / "c";
  Talk talk = chat.talk();
  EXPECT_EQ(code_of([&] { chat.talk(); }), "FileInUse");
  talk.send("Hello.", kIgnore);
  talk.save(dir / "c");  // its own
  EXPECT_EQ(code_of([&] { chat.talk(); }), "FileInUse");
  talk.send("And then?", kIgnore);
  chat.options.file.clear();
  Talk other = chat.talk();
  other.load(dir / "c");
  expect_equal(other, talk);
}

// Files with the right checksums and the wrong content.
class ForgedConversation : public testing::Test {
 protected:
  ForgedConversation() { snapshot_.random = {1, 2, 3, 4}; }

  // The code of loading a file with these records behind its head.
  std::string load(const std::vector<RecordBytes>& records) {
    chat_.talk().save(dir_ / "empty");
    constexpr size_t kHeadBytes = 88;
    const std::string head = contents(dir_ / "empty").substr(0, kHeadBytes);
    RecordFile file = RecordFile::open(dir_ / "forged");
    file.begin(as_byte_span(head));
    for (const RecordBytes& record : records) file.append(record.bytes());
    Talk talk = chat_.talk();
    const std::string code = code_of([&] { talk.load(dir_ / "forged"); });
    EXPECT_EQ(talk.tokens().size(), code == "none" ? snapshot_.transcript.tokens().size() : 0);
    return code;
  }
  std::string load_turn(size_t cache_length = 0) { return load({turn(cache_length)}); }

  RecordBytes turn(size_t cache_length = 0) {
    RecordBytes record;
    record.number(2);
    write_turn({}, snapshot_, cache_length, record);
    return record;
  }

  SmallChat chat_;
  test::TempDir dir_;
  Snapshot snapshot_;
};

TEST_F(ForgedConversation, IsReadWhereNothingIsWrong) {
  snapshot_.transcript = Transcript({1, 2, 3}, {{{"a", 2}, 2}, {{"b"}, 3}});
  snapshot_.messages = {{{Role::tool, "x", "y", {{"i", "n", "{}"}}, "i", "n"}}};
  EXPECT_EQ(load_turn(), "none");
}

TEST_F(ForgedConversation, WithImpossibleTokensIsRefused) {
  for (const TokenId id : {-1, 320, 1 << 30}) {
    snapshot_.transcript = Transcript({1, id});
    EXPECT_EQ(load_turn(), "DamagedConversation");
    snapshot_.transcript = Transcript({1}, {{{"a", id}, 1}});
    EXPECT_EQ(load_turn(), "DamagedConversation");
  }
}

TEST_F(ForgedConversation, WithImpossibleRunsIsRefused) {
  snapshot_.transcript = Transcript({1, 2}, {{{"a", 2}, 3}});
  EXPECT_EQ(load_turn(), "DamagedConversation");
  snapshot_.transcript = Transcript({1, 2}, {{{"a", 2}, 2}, {{"b", 2}, 1}});
  EXPECT_EQ(load_turn(), "DamagedConversation");
  snapshot_.transcript = Transcript({1, 2}, {{{"a"}, 1}, {{"b"}, 2}});
  EXPECT_EQ(load_turn(), "DamagedConversation");
}

TEST_F(ForgedConversation, WithImpossibleNumbersIsRefused) {
  snapshot_.transcript = Transcript({1, 2});
  EXPECT_EQ(load_turn(3), "DamagedConversation");  // more positions than tokens
  EXPECT_EQ(load_turn(2), "DamagedConversation");  // no block
  snapshot_.answer_begin = 3;
  EXPECT_EQ(load_turn(), "DamagedConversation");
  snapshot_.answer_begin = 0;
  snapshot_.messages = {{{static_cast<Role>(9), "x"}}};
  EXPECT_EQ(load_turn(), "DamagedConversation");
}

TEST_F(ForgedConversation, WhoseSamplerWouldDrawNothingButZerosIsRefused) {
  snapshot_.random = {};
  EXPECT_EQ(load_turn(), "DamagedConversation");
}

TEST_F(ForgedConversation, WithABlockOfAnotherSizeIsRefused) {
  snapshot_.transcript = Transcript({1, 2});
  RecordBytes block;
  block.number(1).number(0).number(77);
  EXPECT_EQ(load({block, turn(2)}), "DamagedConversation");
}

TEST_F(ForgedConversation, OfAnUnknownKindOrCutInARecordIsRefused) {
  RecordBytes unknown, cut, nothing;
  unknown.number(3);
  cut.number(2).number(1);
  EXPECT_EQ(load({unknown}), "DamagedConversation");
  EXPECT_EQ(load({cut}), "Truncated");
  EXPECT_EQ(load({nothing}), "Truncated");
  RecordBytes more = turn();
  more.number(0);
  EXPECT_EQ(load({more}), "DamagedConversation");
}

// Counts are claims: nothing is allocated for what is not there.
TEST_F(ForgedConversation, WithHugeCountsIsRefusedAtOnce) {
  for (const uint64_t huge : {uint64_t{1} << 40, ~uint64_t{0}, uint64_t{1} << 63}) {
    RecordBytes messages, kept, text, calls;
    messages.number(2).number(1).number(0).number(huge);
    kept.number(2).number(1).number(huge).number(0);
    text.number(2).number(1).number(0).number(1).number(0).number(huge);
    calls.number(2).number(1).number(0).number(1).number(0).text("").text("").number(huge);
    EXPECT_EQ(load({messages}), "Truncated");
    EXPECT_EQ(load({kept}), "DamagedConversation");
    EXPECT_EQ(load({text}), "Truncated");
    EXPECT_EQ(load({calls}), "Truncated");
  }
}

}  // namespace
}  // namespace maglio::chat
