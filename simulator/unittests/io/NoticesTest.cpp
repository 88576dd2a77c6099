//===- NoticesTest.cpp - Notices of tools ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/Notices.h"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <unistd.h>

using namespace mx;

namespace {

size_t countThreads() {
  namespace fs = std::filesystem;
  return size_t(std::distance(fs::directory_iterator("/proc/self/task"),
                              fs::directory_iterator()));
}

/// Replaces standard error by a terminal.
class Terminal {
public:
  Terminal() : kept(dup(STDERR_FILENO)) {
    setenv("TERM", "xterm", 1);
    unsetenv("MX_QUIET");
    int side;
    EXPECT_EQ(openpty(&terminal, &side, nullptr, nullptr, nullptr), 0);
    dup2(side, STDERR_FILENO);
    close(side);
  }
  ~Terminal() {
    dup2(kept, STDERR_FILENO);
    close(kept);
    close(terminal);
  }
  /// Reads until the text ends with `last`, for at most 60 s. The kernel may
  /// deliver terminal output in pieces and late.
  std::string readTo(const std::string &last) {
    std::string text;
    pollfd readable = {terminal, POLLIN, 0};
    while (text.size() < last.size() ||
           text.compare(text.size() - last.size(), last.size(), last) != 0) {
      char bytes[4096];
      if (poll(&readable, 1, 60000) != 1)
        break;
      ssize_t count = ::read(terminal, bytes, sizeof bytes);
      text.append(bytes, size_t(std::max<ssize_t>(count, 0)));
    }
    return text;
  }

private:
  int terminal = -1, kept;
};

TEST(Progress, LeavesNeitherALineNorAThread) {
  Terminal terminal;
  size_t before = countThreads();
  {
    Progress progress({"tool", false}, "working");
    EXPECT_EQ(countThreads(), before + 1);
    std::string second = "\r\033[Ktool: working, 3 s\r";
    EXPECT_EQ(terminal.readTo(second), "\r\033[Ktool: working, 2 s\r" + second);
    // Erasing the line twice has no further effect.
    Progress::erase();
    Progress::erase();
  }
  EXPECT_EQ(countThreads(), before);
  EXPECT_EQ(terminal.readTo("\033[K"), "\r\033[K");
}

TEST(Progress, PrintsNothingForShortWork) {
  Terminal terminal;
  for (int i = 0; i < 100; ++i)
    Progress({"tool", false}, "working");
  Notices("tool", false).say("done");
  EXPECT_EQ(terminal.readTo("\n"), "tool: done\r\n");
}

TEST(Progress, StartsNoThreadIfDisabled) {
  Terminal terminal;
  size_t before = countThreads();
  Progress quiet({"tool", true}, "working");
  EXPECT_EQ(countThreads(), before);
  setenv("MX_QUIET", "1", 1);
  Progress asked({"tool", false}, "working");
  EXPECT_EQ(countThreads(), before);
  Notices("tool", false).say("not this");
  setenv("MX_QUIET", "0", 1);
  setenv("TERM", "dumb", 1);
  Progress dumb({"tool", false}, "working");
  EXPECT_EQ(countThreads(), before);
  Notices("tool", false).say("");
  Notices("tool", false).say("a\033[2Jb");
  EXPECT_EQ(terminal.readTo("\n"), "tool: a\\x1B[2Jb\r\n");
}

/// Returns the SIGINT handlers during progress and afterwards.
std::pair<sighandler_t, sighandler_t> watchCtrlC(sighandler_t before) {
  struct sigaction during = {}, after = {};
  sighandler_t outside = signal(SIGINT, before);
  {
    Progress progress({"tool", false}, "working");
    sigaction(SIGINT, nullptr, &during);
  }
  sigaction(SIGINT, nullptr, &after);
  signal(SIGINT, outside);
  return {during.sa_handler, after.sa_handler};
}

TEST(Progress, RestoresTheCtrlCHandler) {
  Terminal terminal;
  auto [during, after] = watchCtrlC(SIG_DFL);
  EXPECT_NE(during, SIG_DFL);
  EXPECT_EQ(after, SIG_DFL);
}

TEST(Progress, LeavesCtrlCIgnored) {
  Terminal terminal;
  auto [during, after] = watchCtrlC(SIG_IGN);
  EXPECT_EQ(during, SIG_IGN);
  EXPECT_EQ(after, SIG_IGN);
}

} // namespace
