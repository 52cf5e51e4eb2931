#include "chat/record_bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "maglio/error.h"

namespace maglio::chat {
namespace {

using HeldRun = Transcript::HeldRun;

// Items at the beginning that two lists have in common.
template <class T>
size_t common_items(const std::vector<T>& a, const std::vector<T>& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

void require(bool holds, const ByteReader& in, const char* what) {
  if (holds) return;
  throw Error(ErrorKind::bad_file, "DamagedConversation",
              fmt::format("{}: {} cannot be", in.where(), what));
}

// The binding breaks when a message gets another field.
void write_message(const Message& message, RecordBytes& out) {
  const auto& [role, content, reasoning_content, tool_calls, tool_call_id, name] = message;
  out.number(static_cast<uint64_t>(role)).text(content).text(reasoning_content);
  out.number(tool_calls.size());
  for (const auto& [id, tool, arguments] : tool_calls) out.text(id).text(tool).text(arguments);
  out.text(tool_call_id).text(name);
}

std::string read_text(ByteReader& in) {
  return std::string(as_text(in.take(in.read<uint64_t>())));
}

Message read_message(ByteReader& in) {
  const auto role = in.read<uint64_t>();
  require(role <= static_cast<uint64_t>(Role::tool), in, "the role of a message");
  Message message{.role = static_cast<Role>(role), .content = read_text(in)};
  message.reasoning_content = read_text(in);
  for (auto n = in.read<uint64_t>(); n > 0; --n) {
    ToolCall call;
    call.id = read_text(in);
    call.name = read_text(in);
    call.arguments = read_text(in);
    message.tool_calls.push_back(std::move(call));
  }
  message.tool_call_id = read_text(in);
  message.name = read_text(in);
  return message;
}

void write_run(const HeldRun& held, RecordBytes& out) {
  out.text(held.run.text).number(held.run.marker.has_value());
  out.number(static_cast<uint64_t>(held.run.marker.value_or(0))).number(held.end);
}

TokenId checked_id(uint64_t id, size_t vocab_size, const ByteReader& in) {
  require(id < vocab_size, in, "a token id");
  return static_cast<TokenId>(id);
}

HeldRun read_run(ByteReader& in, size_t vocab_size) {
  HeldRun held{{read_text(in)}, 0};
  const bool has_marker = in.read<uint64_t>() != 0;
  const TokenId marker = checked_id(in.read<uint64_t>(), vocab_size, in);
  if (has_marker) held.run.marker = marker;
  held.end = in.read<uint64_t>();
  return held;
}

// Items that stay, and new ones, each read by read_item.
template <class T, class ReadItem>
void read_list(ByteReader& in, std::vector<T>& list, ReadItem&& read_item) {
  const auto n_kept = in.read<uint64_t>();
  require(n_kept <= list.size(), in, "the length of what stays");
  list.resize(n_kept, T{});
  for (auto n = in.read<uint64_t>(); n > 0; --n) list.push_back(read_item());
}

// The invariant of a Transcript.
void check_runs(const std::vector<HeldRun>& runs, size_t n_tokens, const ByteReader& in) {
  size_t end = 0;
  for (const HeldRun& held : runs) {
    require(held.end >= end && held.end <= n_tokens, in, "the end of a run");
    require(held.run.marker || &held == &runs.back(), in, "an open run before the last");
    end = held.end;
  }
}

}  // namespace

RecordBytes& RecordBytes::number(uint64_t n) {
  for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<std::byte>(n >> shift));
  return *this;
}

RecordBytes& RecordBytes::text(std::string_view text) {
  return number(text.size()).raw(as_byte_span(text));
}

RecordBytes& RecordBytes::raw(std::span<const std::byte> bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

std::span<std::byte> RecordBytes::room(size_t n) {
  bytes_.resize(bytes_.size() + n);
  return std::span(bytes_).last(n);
}

void write_turn(const Snapshot& before,
                const Snapshot& now,
                size_t cache_length,
                RecordBytes& out) {
  const std::vector<Message> none;
  const auto& old_messages = before.messages ? *before.messages : none;
  const auto& messages = now.messages ? *now.messages : none;
  const auto list = [&out](const auto& old_items, const auto& items, auto&& write_item) {
    const size_t n_kept = common_items(old_items, items);
    out.number(n_kept).number(items.size() - n_kept);
    for (size_t i = n_kept; i < items.size(); ++i) write_item(items[i]);
  };
  out.number(now.messages.has_value());
  list(old_messages, messages, [&](const Message& m) { write_message(m, out); });
  list(before.transcript.tokens(), now.transcript.tokens(),
       [&](TokenId id) { out.number(static_cast<uint64_t>(id)); });
  list(before.transcript.runs(), now.transcript.runs(),
       [&](const HeldRun& held) { write_run(held, out); });
  out.number(now.answer_begin).number(now.system.has_value()).text(now.system.value_or(""));
  out.number(static_cast<uint64_t>(now.thinking)).number(now.seed);
  for (const uint64_t word : now.random) out.number(word);
  out.number(cache_length);
}

size_t read_turn(ByteReader& in, size_t vocab_size, Snapshot& snapshot) {
  const bool known = in.read<uint64_t>() != 0;
  std::vector<Message> messages = std::move(snapshot.messages).value_or(std::vector<Message>());
  read_list(in, messages, [&] { return read_message(in); });
  require(known || messages.empty(), in, "messages that nobody knows");
  snapshot.messages.reset();
  if (known) snapshot.messages = std::move(messages);

  std::vector<TokenId> tokens = snapshot.transcript.tokens();
  read_list(in, tokens, [&] { return checked_id(in.read<uint64_t>(), vocab_size, in); });
  std::vector<HeldRun> runs = snapshot.transcript.runs();
  read_list(in, runs, [&] { return read_run(in, vocab_size); });
  check_runs(runs, tokens.size(), in);
  snapshot.answer_begin = in.read<uint64_t>();
  require(snapshot.answer_begin <= tokens.size(), in, "the beginning of the last answer");
  snapshot.transcript = Transcript(std::move(tokens), std::move(runs));

  const bool has_system = in.read<uint64_t>() != 0;
  snapshot.system = read_text(in);
  if (!has_system) snapshot.system.reset();
  snapshot.thinking = in.read<uint64_t>() == 0 ? Thinking::on : Thinking::off;
  snapshot.seed = in.read<uint64_t>();
  for (uint64_t& word : snapshot.random) word = in.read<uint64_t>();
  require(snapshot.random != Random::State{}, in, "a generator that gives nothing but zeros");
  const auto cache_length = in.read<uint64_t>();
  require(in.remaining() == 0, in, "what follows a turn");
  return cache_length;
}

}  // namespace maglio::chat
