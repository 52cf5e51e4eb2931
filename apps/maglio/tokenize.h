// Printing token ids: the body of `maglio tokenize` and of the oracle `run --tokenize`.
#pragma once

#include <string>

#include "maglio/tokenizer.h"

namespace maglio::app {

// A tokenizer from a model file of which only the metadata is read; a vocabulary alone will do.
// Says once, on stderr, if the file asks for a pre-tokenizer that maglio lacks.
// Throws: Error, as gguf::File::open and Tokenizer::from_gguf.
Tokenizer load_tokenizer(const std::string& model_path);

// Prints the ids of a file's bytes (all of them: no line feed is trimmed), one a line.
// "-" reads standard input. Throws: Error, io if the file cannot be read.
void print_token_ids(const std::string& model_path,
                     const std::string& text_path,
                     const Tokenizer::EncodeOptions& options);

}  // namespace maglio::app
