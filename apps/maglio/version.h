// What this build is.
#pragma once

#include <string>

namespace maglio::app {

// "maglio 0.1.0 (3f2a1bc, compiler 12.2.0, x86_64), instruction set avx2"
// Throws: Error unsupported when MAGLIO_ISA names one that is not available here.
std::string version_text();

// The commit that was built, "unknown" outside of a repository.
std::string build_commit();

}  // namespace maglio::app
