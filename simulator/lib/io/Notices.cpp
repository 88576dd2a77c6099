//===- Notices.cpp - Notices and progress of tools ------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Each update of the progress line is a single write and leaves the cursor at
// the start of the line, so other output overwrites the line.
//===----------------------------------------------------------------------===//

#include "mxsim/io/Notices.h"
#include "mxsim/io/Printable.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

using namespace mx;

namespace {

constexpr std::chrono::seconds kFirst{2}, kNext{1};
constexpr std::string_view kErase = "\r\033[K";

/// True while the line is visible. Also used by the signal handler.
std::atomic<bool> isDrawn{false};

/// Writes to stderr. Async-signal-safe.
void write(std::string_view text) {
  // Ignore errors, since the terminal may be closed.
  (void)!::write(STDERR_FILENO, text.data(), text.size());
}

bool isSet(const char *name) {
  const char *value = std::getenv(name);
  return value && *value;
}

bool isTerminal() {
  const char *kind = std::getenv("TERM");
  return isatty(STDERR_FILENO) && kind && *kind &&
         std::string_view(kind) != "dumb";
}

/// Action for Ctrl-C to restore after the line is erased.
struct sigaction before;

/// Erases the line and ends the process as Ctrl-C does.
void interrupt(int signal) {
  Progress::erase();
  sigaction(signal, &before, nullptr);
  raise(signal);
}

} // namespace

Notices::Notices(std::string tool, bool quiet)
    : tool(std::move(tool)),
      wanted(!quiet && !(isSet("MX_QUIET") &&
                         std::string_view(std::getenv("MX_QUIET")) != "0")) {}

void Notices::say(const std::string &text) const {
  if (wanted && !text.empty())
    fprintf(stderr, "%s: %s\n", tool.c_str(), printable(text).c_str());
}

Progress::Progress(const Notices &notices, const char *doing)
    : text(notices.tool + ": " + doing + ", ") {
  if (!notices.wanted || !isTerminal())
    return;
  // Erase the line if the program exits without running destructors
  // (docs/guide/Run.md).
  static const int atEnd = std::atexit(erase);
  (void)atEnd;
  try {
    thread = std::thread(&Progress::show, this);
  } catch (const std::system_error &) {
    return; // no more threads available
  }
  struct sigaction action = {};
  action.sa_handler = interrupt;
  sigaction(SIGINT, &action, &before);
  if (before.sa_handler == SIG_IGN) // in a background job of a shell
    sigaction(SIGINT, &before, nullptr);
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    isOver = true;
  }
  ended.notify_one();
  thread.join();
  erase();
  sigaction(SIGINT, &before, nullptr);
}

void Progress::erase() {
  if (isDrawn.exchange(false))
    write(kErase);
}

void Progress::show() {
  // Other threads handle signals.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  std::unique_lock<std::mutex> lock(mutex);
  auto begin = std::chrono::steady_clock::now();
  for (auto next = kFirst;; next += kNext) {
    if (ended.wait_until(lock, begin + next, [&] { return isOver; }))
      return;
    draw(next.count());
  }
}

void Progress::draw(long seconds) {
  std::string line = text + std::to_string(seconds) + " s";
  winsize size = {};
  // Truncate the line, because a wrapped line could not be erased.
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
    line = line.substr(0, size.ws_col - 1u);
  isDrawn = true;
  write(std::string(kErase) + line + "\r");
}
