// load_and_report MODEL THREADS: loads a model file, then prints the most memory that this process
// ever had resident, in bytes, mapped files included (VmHWM of proc(5)). A process of its own,
// because a test's peak is that of everything it did before.
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "maglio/error.h"
#include "model/transformer.h"

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    const auto model =
        maglio::Transformer::load(argv[1], {.n_threads = static_cast<size_t>(std::atoi(argv[2]))});
  } catch (const maglio::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmHWM:")) std::printf("%lld\n", std::atoll(line.c_str() + 6) * 1024);
  }
  return 0;
}
