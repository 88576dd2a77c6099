//===- HostExit.cpp - Compiled code that ends the program -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiled code has no tables to unwind its frames, so that no exception goes
// through it, and no destructors that a jump would leave out.
//
//===----------------------------------------------------------------------===//

#include "HostExit.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Support/ExitStatus.h"
#include "llvm/ADT/StringRef.h"
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <unistd.h>

using namespace mx;

namespace {

/// A call that is under way in this thread.
struct Frame {
  std::jmp_buf place;
  std::string printed;
  int status = 0;
};

thread_local Frame *innermost = nullptr;

/// The message, without the word that tools print between place and text.
std::string takeMessage(const Frame &frame) {
  std::string text = llvm::StringRef(frame.printed).rtrim().str();
  constexpr llvm::StringLiteral kWord = "error: ";
  if (size_t at = text.find(kWord); at != std::string::npos)
    text.erase(at, kWord.size());
  if (text.empty())
    return "the program called exit(" + std::to_string(frame.status) + ")";
  return text;
}

} // namespace

int host_exit::print(int file, const char *format, ...) {
  va_list values, again;
  va_start(values, format);
  va_copy(again, values);
  int count;
  if (file == STDERR_FILENO && innermost) {
    count = std::vsnprintf(nullptr, 0, format, values);
    if (count > 0) {
      std::string &text = innermost->printed;
      size_t begin = text.size();
      text.resize(begin + count + 1); // and a zero
      std::vsnprintf(text.data() + begin, count + 1, format, again);
      text.pop_back();
    }
  } else {
    count = vdprintf(file, format, values);
  }
  va_end(again);
  va_end(values);
  return count;
}

void host_exit::exit(int status) {
  if (!innermost)
    std::exit(status);
  innermost->status = status;
  std::longjmp(innermost->place, 1);
}

llvm::Error host_exit::call(void (*function)(void **), void **arguments) {
  Frame frame;
  // Not in a register: it is read after the jump.
  Frame *volatile outer = innermost;
  innermost = &frame;
  bool ended = setjmp(frame.place) == 0;
  if (ended)
    function(arguments);
  // Of the second return too: `ended` was written between the two.
  innermost = outer;
  if (!ended)
    return makeError(takeMessage(frame),
                     frame.status == kExitFault ? kExitFault : kExitBadInput);
  if (!frame.printed.empty())
    std::fputs(frame.printed.c_str(), stderr);
  return llvm::Error::success();
}
