// The `millrace` command, wherever it is started from: the program of that name, or the
// Python package.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace millrace::cli {

// Packages by name and version; Python itself is called "python".
using PythonPackages = std::vector<std::pair<std::string, std::string>>;

// Says that Python is in this process, so that workers can run its functions. Before
// RunCommand, by the Python package alone.
void SetPython(PythonPackages packages);

// What SetPython was told; nothing where it was not called.
const std::optional<PythonPackages>& Python();

// The words that start this program once more, without a verb: the program itself, or
// Python and its script.
const std::vector<std::string>& OwnWords();

// Does what the command line says; gives the exit code.
int RunCommand(int argc, char** argv);

}  // namespace millrace::cli
