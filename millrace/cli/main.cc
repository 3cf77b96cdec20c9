// The program `millrace`.

#include "millrace/cli/command.h"

// NOLINTNEXTLINE(bugprone-exception-escape): out of memory ends the process either way.
int main(int argc, char** argv) { return millrace::cli::RunCommand(argc, argv); }
