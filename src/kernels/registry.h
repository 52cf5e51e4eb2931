// Which kernel table this process computes with.
//
// Every table gives the same bits, so the choice is one of speed only: the best that the machine
// can run, unless the environment variable MAGLIO_ISA names another one.
#pragma once

#include <string_view>
#include <vector>

#include "kernels/kernels.h"

namespace maglio {

// The tables that this build has and this machine can run, slowest first; never empty.
std::vector<const Kernels*> available_kernels();

// The table of that name; the best one for an empty name.
// Throws: Error unsupported "IsaNotAvailable" where this build or this machine lacks it ("...not
// available here"), or where no instruction set has that name.
const Kernels* find_kernels(std::string_view name);

// find_kernels(MAGLIO_ISA), decided once per process. Throws as find_kernels.
const Kernels& active_kernels();

}  // namespace maglio
