//===- OutputFileTest.cpp - Atomic writes of output files -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mxsim/io/OutputFile.h"
#include "FolderTest.h"

#include <atomic>
#include <climits>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace mx;

namespace {

using OutputFile = FolderTest;

mode_t permissionsOf(const std::string &path) {
  struct stat info = {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST_F(OutputFile, UsesOldOrDefaultPermissions) {
  mode_t mask = umask(027);
  EXPECT_EQ(writeOutputFile(path("file"), {"a", "", "bc"}), "");
  umask(mask);
  EXPECT_EQ(slurp("file"), "abc");
  EXPECT_EQ(permissionsOf(path("file")), 0640u);
  ASSERT_EQ(chmod(path("file").c_str(), 0604), 0);
  EXPECT_EQ(writeOutputFile(path("file"), {}), "");
  EXPECT_EQ(slurp("file"), "");
  EXPECT_EQ(permissionsOf(path("file")), 0604u);
}

TEST_F(OutputFile, KeepsTheOldFileOnFailure) {
  write("old", "precious");
  std::string why = ": cannot write: ";
  EXPECT_EQ(writeOutputFile(path("no/such"), {"new"}),
            path("no/such") + why + "No such file or directory");
  EXPECT_EQ(writeOutputFile(path("old/file"), {"new"}),
            path("old/file") + why + "Not a directory");
  EXPECT_EQ(writeOutputFile(directory, {"new"}),
            directory + why + "Is a directory");
  // After a write to a full device, no temporary file may remain.
  EXPECT_EQ(writeOutputFile("/dev/full", {"new"}),
            "/dev/full" + why + "No space left on device");
  EXPECT_EQ(list(), std::vector<std::string>{"old"});
  EXPECT_EQ(slurp("old"), "precious");
}

// Names of temporary files would exceed NAME_MAX.
TEST_F(OutputFile, IsWrittenInPlaceIfTheNameIsTooLong) {
  std::string name(NAME_MAX, 'a');
  EXPECT_EQ(writeOutputFile(path(name), {"first, longer"}), "");
  EXPECT_EQ(writeOutputFile(path(name), {"second"}), "");
  EXPECT_EQ(slurp(name), "second");
}

TEST_F(OutputFile, FollowsLinks) {
  write("target", "old");
  for (auto [link, target] : {std::pair("link", "target"),
                              {"second", "link"},
                              {"dangling", "new"},
                              {"circle", "circle"}})
    ASSERT_EQ(symlink(target, path(link).c_str()), 0);
  EXPECT_EQ(writeOutputFile(path("second"), {"text"}), "");
  EXPECT_EQ(writeOutputFile(path("dangling"), {"more"}), "");
  EXPECT_EQ(writeOutputFile(path("circle"), {"none"}),
            path("circle") +
                ": cannot write: Too many levels of symbolic links");
  EXPECT_EQ(slurp("target"), "text");
  EXPECT_EQ(slurp("new"), "more");
  for (const char *link : {"link", "second", "dangling", "circle"})
    EXPECT_TRUE(std::filesystem::is_symlink(path(link))) << link;
  EXPECT_EQ(list().size(), 6u);
}

TEST_F(OutputFile, WritesToPipes) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::string large(1 << 20, 'x'), found;
  std::thread reader([&] { found = slurp("pipe"); });
  EXPECT_EQ(writeOutputFile(path("pipe"), {large, "end"}), "");
  reader.join();
  EXPECT_EQ(found, large + "end");
  EXPECT_EQ(list(), std::vector<std::string>{"pipe"});
}

TEST_F(OutputFile, WritesAfterEarlierStandardOutput) {
  int file = open(path("out").c_str(), O_RDWR | O_CREAT, 0600);
  int before = dup(STDOUT_FILENO);
  ASSERT_EQ(dup2(file, STDOUT_FILENO), STDOUT_FILENO);
  bool isWritten = ::write(STDOUT_FILENO, "a", 1) == 1;
  std::string why = writeOutputFile("/dev/stdout", {"b"});
  why += writeOutputFile(path("out"), {"c"});
  isWritten &= ::write(STDOUT_FILENO, "d", 1) == 1;
  dup2(before, STDOUT_FILENO);
  close(before);
  close(file);
  EXPECT_TRUE(isWritten);
  EXPECT_EQ(why, "");
  EXPECT_EQ(slurp("out"), "abcd");
}

TEST_F(OutputFile, ConcurrentWritersLeaveOneWholeFile) {
  // A process with the same ID in another container has left its temporary
  // files.
  std::string beside = path("file") + "." + std::to_string(getpid()) + ".";
  for (int number = 0; number < 200; ++number)
    std::ofstream(beside + std::to_string(number) + ".tmp") << "other";
  constexpr size_t kSize = 100'000;
  auto writeMany = [&](char letter) {
    std::string half(kSize / 2, letter);
    for (int i = 0; i < 25; ++i)
      if (!writeOutputFile(path("file"), {half, half}).empty())
        return false;
    return true;
  };
  ASSERT_TRUE(writeMany('z'));
  std::atomic<bool> ok{true};
  std::vector<std::thread> threads;
  pid_t child = fork();
  for (char letter : {'a', 'b', 'c'})
    threads.emplace_back([&, letter] {
      if (!writeMany(child ? letter : letter - 'a' + 'A'))
        ok = false;
    });
  for (int i = 0; i < 100; ++i) {
    std::string text = slurp("file");
    if (text.size() != kSize || text != std::string(kSize, text[0]))
      ok = false;
  }
  for (std::thread &thread : threads)
    thread.join();
  if (child == 0)
    _exit(ok ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(ok);
  EXPECT_EQ(list().size(), 201u);
}

} // namespace
