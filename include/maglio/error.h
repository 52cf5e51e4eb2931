// The only exception type of maglio.
//
// Wrong input (a file, a request, a flag, a full context) throws an Error. Its message is one line
// that names the thing, what was expected, what was found and, where there is one, the remedy.
// Its code is a stable name ("InvalidSequenceLength", "KvCacheOverflow", ...) that callers and
// tests compare. Broken code asserts instead; normal absence is std::optional.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace maglio {

enum class ErrorKind {
  bad_file,      // a file that is not what it claims to be
  unsupported,   // well-formed, but maglio cannot do it
  bad_request,   // a caller's argument, flag or request field
  context_full,  // no room left in the context
  io,            // the operating system said no
  cancelled,     // stopped on the caller's wish
};

std::string_view to_string(ErrorKind kind);

class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string code, std::string message)
      : kind_(kind), code_(std::move(code)), message_(std::move(message)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& code() const { return code_; }
  const std::string& message() const { return message_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string code_;
  std::string message_;
};

}  // namespace maglio
