//===- Error.cpp - Sticky errors of a thread ------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Errors belong to the raising thread. A policy of the whole process decides
// whether errors are printed and whether they end the process.
//===----------------------------------------------------------------------===//

#include "Error.h"

#include "PerThread.h"

#include "mxsim/io/Printable.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>
#include <stdexcept>
#include <system_error>

using namespace mx::runtime;

namespace {

struct State {
  std::mutex mutex;
  mxWarningHandler warningHandler = nullptr;
  void *warningData = nullptr;
};

/// Errors of a thread.
struct Errors {
  /// First error since the last clear.
  Error first;
  /// Text of the latest error.
  std::string latest;
};

struct PolicyName {
  const char *name;
  int policy;
};
constexpr PolicyName kPolicies[] = {{"print", MX_ERRORS_PRINT},
                                    {"return", MX_ERRORS_RETURN},
                                    {"exit", MX_ERRORS_EXIT}};

} // namespace

static Errors &errors() { return PerThread<Errors>::get(); }

/// Returns the state. Never destroyed, because global destructors of generated
/// code may report errors.
static State &state() {
  static State *state = new State;
  return *state;
}

static int readPolicy() {
  const char *text = getenv("MX_ERRORS");
  if (!text || !*text)
    return MX_ERRORS_PRINT;
  for (const PolicyName &known : kPolicies)
    if (strcmp(known.name, text) == 0)
      return known.policy;
  fprintf(stderr,
          "mx runtime: MX_ERRORS: expected print, return or exit, found '%s'\n",
          mx::printable(text).c_str());
  return MX_ERRORS_PRINT;
}

/// Returns the policy, initialized from MX_ERRORS.
static std::atomic<int> &policy() {
  static std::atomic<int> policy(readPolicy());
  return policy;
}

/// Returns the driver's name of an error, as in MLIR's wrappers.
static const char *driverName(int status) {
  switch (status) {
  case MX_ERROR_INVALID_VALUE:
  case MX_ERROR_BAD_LAUNCH:
    return "CUDA_ERROR_INVALID_VALUE";
  case MX_ERROR_NO_DEVICE:
    return "CUDA_ERROR_NO_DEVICE";
  case MX_ERROR_OUT_OF_MEMORY:
    return "CUDA_ERROR_OUT_OF_MEMORY";
  case MX_ERROR_BAD_MODULE:
    return "CUDA_ERROR_INVALID_IMAGE";
  case MX_ERROR_WRONG_TARGET:
    return "CUDA_ERROR_NO_BINARY_FOR_GPU";
  case MX_ERROR_NOT_FOUND:
    return "CUDA_ERROR_NOT_FOUND";
  case MX_ERROR_UNSUPPORTED:
    return "CUDA_ERROR_NOT_SUPPORTED";
  case MX_ERROR_CHECK:
  case MX_ERROR_KERNEL:
    return "CUDA_ERROR_LAUNCH_FAILED";
  case MX_ERROR_DEADLOCK:
    return "CUDA_ERROR_LAUNCH_TIMEOUT";
  default:
    return "CUDA_ERROR_UNKNOWN";
  }
}

int mx::runtime::report(const Error &error, const char *driverCall) {
  if (!error)
    return MX_SUCCESS;
  // The copies may fail to allocate; nothing after them can fail.
  Error first(error.status, printable(error.text));
  Errors &mine = errors();
  mine.latest = first.text;
  std::string text = first.text;
  if (!mine.first)
    mine.first = std::move(first);
  int now = policy();
  if (now == MX_ERRORS_RETURN)
    return error.status;
  fflush(stdout);
  if (driverCall)
    fprintf(stderr, "'%s' failed with '%s'\n", driverCall,
            driverName(error.status));
  fprintf(stderr, "mx runtime: %s: %s\n", mxStatusName(error.status),
          text.c_str());
  fflush(stderr);
  // Not exit(): destructors may wait for locks of other threads.
  if (now == MX_ERRORS_EXIT)
    _Exit(EXIT_FAILURE);
  return error.status;
}

/// Converts an exception of the C++ library to an error.
static Error describe(const char *function, const std::exception &thrown) {
  std::string begin = function + std::string(": ");
  if (dynamic_cast<const std::bad_alloc *>(&thrown) ||
      dynamic_cast<const std::system_error *>(&thrown))
    return {MX_ERROR_OUT_OF_MEMORY,
            begin +
                "out of memory: expected the memory and threads that the call "
                "needs, found none left (" +
                thrown.what() +
                "); use smaller sizes, or raise the limits of the process "
                "(ulimit)"};
  if (dynamic_cast<const std::length_error *>(&thrown))
    return invalidValue(begin +
                        "expected sizes that fit in memory, found larger "
                        "sizes (" +
                        thrown.what() + ")");
  return {MX_ERROR_INTERNAL, begin +
                                 "an error of the library, please report it (" +
                                 thrown.what() + ")"};
}

int mx::runtime::reportThrown(const char *function,
                              const std::exception &thrown) {
  try {
    return report(describe(function, thrown));
  } catch (const std::exception &) {
    // Short enough for the string's inline buffer.
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

bool mx::runtime::hasError() { return bool(errors().first); }

const char *mxStatusName(int status) {
  static const char *const names[] = {
      "success",      "invalid value", "no device",      "out of memory",
      "bad module",   "wrong target",  "not found",      "bad launch",
      "unsupported",  "check failed",  "deadlock",       "kernel failed",
      "driver error", "interrupted",   "internal error", "peer failed",
      "timeout",      "mismatch"};
  if (status < 0 || size_t(status) >= sizeof(names) / sizeof(*names))
    return "unknown status";
  return names[status];
}

const char *mxGetLastError() { return errors().first.text.c_str(); }

const char *mxGetThreadError() { return errors().latest.c_str(); }

int mxGetLastStatus() { return errors().first.status; }

void mxClearError() { errors().first = Error(); }

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

int mxSetErrorPolicy(int chosen) {
  for (const PolicyName &known : kPolicies)
    if (known.policy == chosen) {
      policy() = chosen;
      return MX_SUCCESS;
    }
  return attempt([&] {
    return invalidValue("expected error policy 0 (print), 1 (return) or 2 "
                        "(exit), found " +
                        std::to_string(chosen));
  });
}
