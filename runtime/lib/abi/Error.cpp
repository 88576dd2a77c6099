//===- Error.cpp - The error that sticks ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One error for the process rather than one per thread: host code may launch
// from one thread and wait in another.
//===----------------------------------------------------------------------===//

#include "Error.h"

#include "mx/Support/Printable.h"

#include <algorithm>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>

using namespace mx::runtime;

namespace {
struct State {
  std::mutex mutex;
  Error error;
  int policy = MX_ERRORS_ABORT;
  mxWarningHandler warningHandler = nullptr;
  void *warningData = nullptr;
};
} // namespace

/// The text of this thread's latest error.
static std::string &threadText() {
  static thread_local std::string text;
  return text;
}

/// Never destroyed: global destructors of generated code may still report.
static State &state() {
  static State *state = new State;
  return *state;
}

int mx::runtime::report(const Error &error) {
  if (!error)
    return MX_SUCCESS;
  // Copies may find no memory; from there on nothing can fail.
  Error first(error.status, printable(error.text));
  threadText() = first.text;
  std::string text = first.text;
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.error)
    s.error = std::move(first);
  if (s.policy == MX_ERRORS_ABORT) {
    fflush(stdout);
    fprintf(stderr, "mx runtime: %s: %s\n", mxStatusName(error.status),
            text.c_str());
    fflush(stderr);
    // The host's crash handler would bury the message under a stack dump.
    signal(SIGABRT, SIG_DFL);
    abort();
  }
  return error.status;
}

int mx::runtime::reportThrown(const char *function,
                              const std::exception &thrown) {
  try {
    return report({MX_ERROR_OUT_OF_MEMORY,
                   std::string(function) +
                       ": out of memory: expected the memory and threads that "
                       "the call needs, found none left (" +
                       thrown.what() +
                       "); use smaller sizes, or raise the limits of the "
                       "process (ulimit)"});
  } catch (const std::exception &) {
    // So short that a string holds it in itself.
    return report({MX_ERROR_OUT_OF_MEMORY, "out of memory"});
  }
}

int mx::runtime::reportNull(const char *argument, const char *function) {
  return attempt(
      [&]() -> Error {
        return {MX_ERROR_INVALID_VALUE, std::string(function) + ": expected " +
                                            argument +
                                            ", found a null pointer"};
      },
      function);
}

void mx::runtime::warn(const std::string &text) {
  State &s = state();
  std::unique_lock<std::mutex> lock(s.mutex);
  mxWarningHandler handler = s.warningHandler;
  void *data = s.warningData;
  lock.unlock();
  std::string shown = printable(text);
  if (handler) {
    handler(shown.c_str(), data);
    return;
  }
  fflush(stdout);
  fprintf(stderr, "mx runtime: warning: %s", shown.c_str());
}

void mxSetWarningHandler(mxWarningHandler handler, void *data) {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.warningHandler = handler;
  s.warningData = data;
}

bool mx::runtime::hasError() { return mxGetLastStatus() != MX_SUCCESS; }

const char *mxStatusName(int status) {
  static const char *const names[] = {
      "success",      "invalid value", "no device", "out of memory",
      "bad module",   "wrong target",  "not found", "bad launch",
      "unsupported",  "check failed",  "deadlock",  "kernel failed",
      "driver error", "interrupted"};
  if (status < 0 || size_t(status) >= sizeof(names) / sizeof(*names))
    return "unknown status";
  return names[status];
}

const char *mxGetLastError() {
  // A copy per thread, so that another thread may clear the error meanwhile.
  static thread_local std::string text;
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  try {
    text = s.error.text;
  } catch (const std::exception &) {
    return "out of memory";
  }
  return text.c_str();
}

const char *mxGetThreadError() { return threadText().c_str(); }

int mxGetLastStatus() {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.error.status;
}

void mxClearError() {
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.error = Error();
}

void mxReportError(const char *format, ...) {
  if (!format) {
    reportNull("a format");
    return;
  }
  va_list values;
  va_start(values, format);
  va_list again;
  va_copy(again, values);
  attempt([&]() -> Error {
    std::string text(std::max(vsnprintf(nullptr, 0, format, values), 0), '\0');
    vsnprintf(text.data(), text.size() + 1, format, again);
    return {MX_ERROR_INVALID_VALUE, text};
  });
  va_end(again);
  va_end(values);
}

void mxSetErrorPolicy(int policy) {
  if (policy != MX_ERRORS_ABORT && policy != MX_ERRORS_RETURN) {
    attempt([&]() -> Error {
      return {MX_ERROR_INVALID_VALUE,
              "expected error policy 0 (abort) or 1 (return), found " +
                  std::to_string(policy)};
    });
    return;
  }
  State &s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  s.policy = policy;
}
