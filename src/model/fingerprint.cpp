#include "model/fingerprint.h"

#include <algorithm>
#include <span>

#include "base/checksum.h"
#include "base/mapped_file.h"

namespace maglio {
namespace {

constexpr size_t kSamples = 16;  // and one more at the end
constexpr size_t kSampleBytes = 4096;

// Bytes of a part before its first tensor.
size_t header_bytes(const gguf::File& file, const MappedFile& part) {
  size_t n = part.bytes().size();
  for (const gguf::TensorInfo& tensor : file.tensors()) {
    if (!part.contains(tensor.data)) continue;
    n = std::min(n, static_cast<size_t>(tensor.data.data() - part.bytes().data()));
  }
  return n;
}

uint64_t fingerprint_of_part(const MappedFile& part, size_t n_header, Fingerprint kind) {
  const std::span<const std::byte> bytes = part.bytes();
  const bool timed = kind == Fingerprint::content_and_time;
  const uint64_t facts[2] = {bytes.size(), timed ? static_cast<uint64_t>(part.modified_ns()) : 0};
  uint64_t sum = checksum(bytes.first(n_header), checksum(std::as_bytes(std::span(facts))));
  const size_t n = std::min(kSampleBytes, bytes.size());
  for (size_t i = 0; i < kSamples; ++i) {
    sum = checksum(bytes.subspan((bytes.size() - n) / kSamples * i, n), sum);
  }
  return checksum(bytes.last(n), sum);
}

}  // namespace

uint64_t fingerprint(const gguf::File& file, Fingerprint kind) {
  uint64_t sum = 0;
  for (const MappedFile& part : file.mappings()) {
    const uint64_t of_part = fingerprint_of_part(part, header_bytes(file, part), kind);
    sum = checksum(std::as_bytes(std::span(&of_part, 1)), sum);
  }
  return sum;
}

}  // namespace maglio
