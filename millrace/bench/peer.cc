#include "millrace/bench/peer.h"

#include <fcntl.h>
#include <stdio.h>  // NOLINT(modernize-deprecated-headers): fdopen is of POSIX.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"

#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/bench/workload.h"

namespace millrace::bench {
namespace {

// Where the programs are, from the folder of the sources, which one runs them in.
constexpr char kPrograms[] = "millrace/bench/peers/";

// Of the process that becomes the program: its ends of both ways.
[[noreturn]] void BecomeProgram(const std::vector<std::string>& command, int in,
                                int out) {
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  std::vector<char*> words;
  words.reserve(command.size() + 1);
  for (const std::string& word : command)
    words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  execvp(words[0], words.data());
  std::perror(words[0]);
  _exit(127);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Peer>> Peer::Start(
    const BenchOptions& options, const std::string& program,
    const std::vector<std::string>& arguments) {
  std::vector<std::string> command = {options.python,
                                      base::StrCat(kPrograms, program, ".py")};
  command.insert(command.end(), arguments.begin(), arguments.end());
  std::array<int, 2> to = {};
  std::array<int, 2> from = {};
  // A socket tells of a program that is gone; a pipe ends us.
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, to.data()) != 0 ||
      pipe2(from.data(), O_CLOEXEC) != 0) {
    return absl::ErrnoToStatus(errno, "pipe");
  }
  std::unique_ptr<Peer> peer(new Peer());
  peer->program_ = program;
  peer->process_ = fork();
  if (peer->process_ == 0) BecomeProgram(command, to[0], from[1]);
  close(to[0]);
  close(from[1]);
  peer->to_ = to[1];
  peer->from_ = fdopen(from[0], "r");
  const std::string said = TRY(peer->ReadLine());
  if (said == "ready") return peer;
  return absl::NotFoundError(said);
}

Peer::~Peer() {
  if (to_ >= 0) close(to_);  // It ends when it is told nothing more.
  if (from_ != nullptr) std::fclose(from_);
  if (process_ > 0) waitpid(process_, nullptr, 0);
}

absl::StatusOr<std::string> Peer::ReadLine() {
  std::string line;
  for (int c = std::fgetc(from_); c != '\n'; c = std::fgetc(from_)) {
    if (c == EOF) return Ended();
    line += static_cast<char>(c);
  }
  return line;
}

absl::Status Peer::Ended() const {
  return absl::NotFoundError(base::StrCat("peer ", program_, " ended"));
}

absl::StatusOr<double> Peer::Rate() {
  constexpr std::string_view kGo = "go\n";
  if (send(to_, kGo.data(), kGo.size(), MSG_NOSIGNAL) < 0) return Ended();
  const std::string line = TRY(ReadLine());
  double rate = 0;
  if (absl::SimpleAtod(line, &rate)) return rate;
  return absl::UnknownError(base::StrCat("peer ", program_, " says ", line));
}

}  // namespace millrace::bench
