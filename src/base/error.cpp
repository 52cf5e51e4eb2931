#include "maglio/error.h"

namespace maglio {

std::string_view to_string(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_file:
      return "bad_file";
    case ErrorKind::unsupported:
      return "unsupported";
    case ErrorKind::bad_request:
      return "bad_request";
    case ErrorKind::context_full:
      return "context_full";
    case ErrorKind::io:
      return "io";
    case ErrorKind::cancelled:
      return "cancelled";
  }
  return "unknown";
}

}  // namespace maglio
