//===- NoticesTest.cpp - What tools say that is no error ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Support/Notices.h"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

using namespace mx;

namespace {

size_t countThreads() {
  namespace fs = std::filesystem;
  return size_t(std::distance(fs::directory_iterator("/proc/self/task"),
                              fs::directory_iterator()));
}

/// Puts a terminal in the place of standard error.
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
  /// What was written; it is not to be empty.
  std::string read() {
    char bytes[4096];
    ssize_t count = ::read(terminal, bytes, sizeof bytes);
    return std::string(bytes, size_t(std::max<ssize_t>(count, 0)));
  }

private:
  int terminal = -1, kept;
};

void wait(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

TEST(Progress, LeavesNeitherALineNorAThread) {
  Terminal terminal;
  size_t before = countThreads();
  {
    Progress progress({"tool", false}, "working");
    EXPECT_EQ(countThreads(), before + 1);
    wait(3.2);
    // What prints meanwhile takes the line away, once.
    Progress::erase();
    Progress::erase();
  }
  EXPECT_EQ(countThreads(), before);
  EXPECT_EQ(terminal.read(), "\r\033[Ktool: working, 2 s\r"
                             "\r\033[Ktool: working, 3 s\r"
                             "\r\033[K");
}

TEST(Progress, SaysNothingOfWhatIsShort) {
  Terminal terminal;
  for (int i = 0; i < 100; ++i)
    Progress({"tool", false}, "working");
  Notices("tool", false).say("done");
  EXPECT_EQ(terminal.read(), "tool: done\r\n");
}

TEST(Progress, HasNoThreadWhereItIsNotWanted) {
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
  EXPECT_EQ(terminal.read(), "tool: a\\x1B[2Jb\r\n");
}

/// What SIGINT does while there is progress, and afterwards.
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

TEST(Progress, GivesCtrlCBack) {
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
