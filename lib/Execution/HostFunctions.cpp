//===- HostFunctions.cpp - Functions called by host code ------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A failed collective ends the call, like any other error of the reference
// path. Exceptions cannot leave compiled code, because it has no unwind tables.
// longjmp can leave the code, which has no destructors to skip.
//===----------------------------------------------------------------------===//

#include "HostFunctions.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Conversion/MXToCPU/Collectives.h"
#include <csetjmp>
#include <cstdarg>
#include <unistd.h>

using namespace mx;

namespace {

/// An active call of this thread.
struct Frame {
  std::jmp_buf place;
  std::string printed;
  int status = 0;
};

thread_local Frame *innermost = nullptr;

/// Returns the message without the prefix "error: ", which tools add.
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
      text.resize(begin + count + 1); // including the zero
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
  // Volatile, because the variable is read after longjmp.
  Frame *volatile outer = innermost;
  innermost = &frame;
  bool ended = setjmp(frame.place) == 0;
  if (ended)
    function(arguments);
  // `ended` is valid here, because it is assigned after each return of setjmp.
  innermost = outer;
  if (!ended)
    return makeError(takeMessage(frame),
                     frame.status == kExitFault ? kExitFault : kExitBadInput);
  if (!frame.printed.empty())
    std::fputs(frame.printed.c_str(), stderr);
  return llvm::Error::success();
}

namespace {

thread_local host_collectives::Scope *current = nullptr;

/// Error of the current collective. Static, because longjmp skips destructors.
thread_local std::string why;

void endIfWrong(ExitStatus status) {
  if (why.empty())
    return;
  host_exit::print(STDERR_FILENO, "error: %s\n", why.c_str());
  why.clear();
  host_exit::exit(status);
}

HostCollectives &get() {
  if (!current || !current->collectives)
    why = "expected a bound group, found a program with several ranks in a "
          "single process";
  endIfWrong(kExitBadInput);
  return *current->collectives;
}

int64_t getRank(int64_t group) { return get().getRank(group); }

/// Adds the name and number of the collective to the error.
void nameCollective(const char *what) {
  ++current->count;
  if (!why.empty())
    why = std::string(what) + ", collective " + std::to_string(current->count) +
          " of @" + current->entry.str() + ": " + why;
}

void allGather(int64_t group, void *window, int64_t bytes) {
  why = get().allGather(group, window, bytes);
  nameCollective("all_gather");
  endIfWrong(kExitFault);
}

void allToAll(int64_t group, const void *from, void *to, int64_t bytes) {
  why = get().allToAll(group, from, to, bytes);
  nameCollective("all_to_all");
  endIfWrong(kExitFault);
}

} // namespace

host_collectives::Scope::Scope(HostCollectives *collectives,
                               llvm::StringRef entry)
    : collectives(collectives), entry(entry), outer(current) {
  current = this;
}

host_collectives::Scope::~Scope() { current = outer; }

void host_collectives::forEachFunction(
    llvm::function_ref<void(llvm::StringRef, void *)> add) {
  add(cpu::kRankFunction, reinterpret_cast<void *>(&getRank));
  add(cpu::kAllGatherFunction, reinterpret_cast<void *>(&allGather));
  add(cpu::kAllToAllFunction, reinterpret_cast<void *>(&allToAll));
}
