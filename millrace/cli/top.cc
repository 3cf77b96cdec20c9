// millrace top: what a service does, once a second, until one has seen enough.

#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include <CLI/CLI.hpp>

#include "millrace/adapters/http/exchange.h"
#include "millrace/base/clock.h"
#include "millrace/base/status.h"
#include "millrace/base/text.h"
#include "millrace/cli/dispatcher_calls.h"
#include "millrace/cli/service_flags.h"
#include "millrace/cli/status_view.h"
#include "millrace/cli/table.h"
#include "millrace/cli/verb.h"

namespace millrace::cli {
namespace {

constexpr absl::Duration kPeriod = absl::Seconds(1);

struct Options {
  DispatcherFlags dispatcher;
  bool once = false;
};

// The terminal, as long as a picture is shown in it: a screen of its own, keys one by
// one. As it was, afterwards.
class Screen {
 public:
  Screen() {
    if (tcgetattr(STDIN_FILENO, &before_) == 0) {
      termios single = before_;
      single.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      single.c_cc[VMIN] = 0;
      single.c_cc[VTIME] = 0;
      is_set_ = tcsetattr(STDIN_FILENO, TCSANOW, &single) == 0;
    }
    std::cout << "\x1b[?1049h\x1b[?25l" << std::flush;
  }

  ~Screen() {
    std::cout << "\x1b[?25h\x1b[?1049l" << std::flush;
    if (is_set_) tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }

  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Whether somebody has pressed q.
  bool IsQuit() const {
    char key = 0;
    while (is_set_ && read(STDIN_FILENO, &key, 1) == 1) {
      if (key == 'q' || key == 'Q') return true;
    }
    return false;
  }

  // Draws over what is there, which does not flicker.
  static void Draw(std::vector<std::string> lines) {
    winsize size = {};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    const int64_t rows = known ? size.ws_row : 24;
    const int64_t columns = known ? size.ws_col : 80;
    std::string text = "\x1b[H";
    bool first = true;
    for (const std::string& line : Fitted(std::move(lines), rows, columns)) {
      text += (first ? "" : "\r\n") + line + "\x1b[K";
      first = false;
    }
    std::cout << text << "\x1b[J" << std::flush;
  }

 private:
  termios before_ = {};
  bool is_set_ = false;
};

absl::StatusOr<ServiceView> Look(DispatcherCalls& calls) {
  ServiceView view{.address = http::ToString(calls.address())};
  view.status = TRY(calls.Status());
  view.jobs = TRY(calls.Jobs());
  view.workers = TRY(calls.Workers());
  view.notices = TRY(calls.Notices());
  return view;
}

// Waits for the next look; false: somebody has seen enough.
bool Wait(const Screen* screen) {
  base::Clock& clock = base::RealClock();
  const absl::Duration until = clock.Monotonic() + kPeriod;
  while (clock.Monotonic() < until) {
    if (SignalCame() || (screen != nullptr && screen->IsQuit())) return false;
  }
  return true;
}

absl::Status ShowOnce(DispatcherCalls& calls) {
  for (const std::string& line : Frame(TRY(Look(calls)))) std::cout << line << "\n";
  return absl::OkStatus();
}

// A dispatcher that does not answer may be starting again: it is said, and asked again.
void ShowPictures(DispatcherCalls& calls) {
  const Screen screen;
  do {
    const absl::StatusOr<ServiceView> view = Look(calls);
    std::vector<std::string> lines =
        view.ok()
            ? Frame(*view)
            : std::vector<std::string>{Harmless(base::ToStd(view.status().message()))};
    lines.front() += "  (q quits)";
    Screen::Draw(std::move(lines));
  } while (Wait(&screen));
}

void ShowLines(DispatcherCalls& calls) {
  int64_t noticed = 0;
  do {
    const absl::StatusOr<ServiceView> view = Look(calls);
    if (!view.ok()) {
      std::cout << Harmless(base::ToStd(view.status().message())) << std::endl;
      continue;
    }
    for (const std::string& line :
         PlainLines(*view, base::RealClock().TimeOfDay(), noticed)) {
      std::cout << line << "\n";
    }
    std::cout << std::flush;
  } while (Wait(nullptr) && std::cout.good());
}

absl::Status Top(const Options& options) {
  HoldSignals();
  DispatcherCalls calls = TRY(DispatcherCalls::Make(options.dispatcher));
  if (options.once) return ShowOnce(calls);
  TRY(calls.Status());  // What is wrong from the start is not waited for.
  const bool is_terminal = isatty(STDOUT_FILENO) == 1;
  is_terminal ? ShowPictures(calls) : ShowLines(calls);
  return absl::OkStatus();
}

}  // namespace

Verb TopVerb() {
  return {"top", "Watch a service: jobs, rates, who waits for what, what happened",
          [](CLI::App& command) {
            const auto options = std::make_shared<Options>();
            command.add_flag("--once", options->once, "Show one picture, and end");
            AddDispatcherFlags(command, options->dispatcher);
            command.footer(
                "Shows a picture each second until q or Ctrl-C is pressed; where the "
                "output is no\nterminal, lines about each job and what happened.\n\n"
                "Examples:\n"
                "  millrace top --dispatcher train-0:7171\n"
                "  millrace top --once\n"
                "  millrace top | tee service.log");
            return [options] { return Top(*options); };
          },
          true};
}

}  // namespace millrace::cli
