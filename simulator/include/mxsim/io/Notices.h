//===- Notices.h - Informational messages of tools --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One-line notices on standard error about automatic decisions, such as
// converted arrays or a fallback to the simulator without a GPU. On a terminal,
// slow steps also show their progress. The option --quiet and the variable
// MX_QUIET suppress notices and compiler remarks, but not errors and warnings.
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
  /// `tool` is the name of the tool, and `quiet` its --quiet option.
  Notices(std::string tool, bool quiet);

  bool areWanted() const { return wanted; }

  /// Prints a line, unless `text` is empty.
  void say(const std::string &text) const;

private:
  friend class Progress;
  const std::string tool;
  const bool wanted;
};

/// Progress line for the current step, such as "mx-run: compiling, 3 s". Shown
/// on a terminal after two seconds, and erased by the destructor. At most one
/// object may exist at a time.
class Progress {
public:
  Progress(const Notices &notices, const char *doing);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Erases the line so that other output can be printed. The line is drawn
  /// again at its next update.
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
