//===- Notices.h - What tools say that is no error --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tool says in one line of standard error what it decided by itself: arrays
// that it converted, and that it runs on the simulator as there is no GPU. On a
// terminal it also shows what takes long. The option --quiet and the variable
// MX_QUIET leave all of this out, and remarks of the compiler too; errors and
// warnings remain.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_IO_NOTICES_H
#define MXSIM_IO_NOTICES_H

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace mx {

class Notices {
public:
  /// Of the tool of that name; `quiet` is its option.
  Notices(std::string tool, bool quiet);

  bool areWanted() const { return wanted; }

  /// Prints a line, unless it is empty.
  void say(const std::string &text) const;

private:
  friend class Progress;
  const std::string tool;
  const bool wanted;
};

/// What a tool is doing, shown on a terminal as long as the object lives, from
/// the third second on: "mx-run: compiling, 3 s". One line, which is gone at
/// the end. At most one at a time.
class Progress {
public:
  Progress(const Notices &notices, const char *doing);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Takes the line off the screen, for something else to be printed. It comes
  /// back with the next second.
  static void erase();

private:
  void show();
  void draw(long seconds);

  const std::string text;
  std::mutex mutex;
  std::condition_variable ended;
  bool isOver = false;
  std::thread thread;
};

} // namespace mx

#endif // MXSIM_IO_NOTICES_H
