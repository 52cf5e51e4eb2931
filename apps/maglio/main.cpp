// The program: one binary, one file a subcommand.
#include <cstdio>

int main() {
  std::fputs("usage: maglio COMMAND ...\n", stderr);
  return 2;
}
