// The `millrace` command, wherever it is started from: the program of that name, or the
// Python package.
#pragma once

namespace millrace::cli {

// Does what the command line says; gives the exit code.
int RunCommand(int argc, char** argv);

}  // namespace millrace::cli
