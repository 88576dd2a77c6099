//===- Status.h - Expectations on the C interface ---------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checks the status and message of a call, and builds launch configurations.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_STATUS_H
#define MX_UNITTESTS_RUNTIME_STATUS_H

#include "mx_runtime.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#define EXPECT_SUCCESS(CALL) EXPECT_EQ(CALL, MX_SUCCESS) << mxGetThreadError()
#define ASSERT_SUCCESS(CALL) ASSERT_EQ(CALL, MX_SUCCESS) << mxGetThreadError()

/// Expects that a call returns this status and message, and clears the error.
#define EXPECT_ERROR(CALL, STATUS, MESSAGE)                                    \
  do {                                                                         \
    EXPECT_EQ(CALL, STATUS);                                                   \
    EXPECT_EQ(mxGetThreadError(), std::string(MESSAGE));                       \
    mxClearError();                                                            \
  } while (false)

/// Expects that a call returns this status and a message with all of these
/// parts.
#define EXPECT_ERROR_WITH(CALL, STATUS, ...)                                   \
  do {                                                                         \
    EXPECT_EQ(CALL, STATUS);                                                   \
    EXPECT_TRUE(contains(mxGetThreadError(), {__VA_ARGS__}));                  \
    mxClearError();                                                            \
  } while (false)

/// Succeeds if `text` contains all parts.
inline testing::AssertionResult
contains(const std::string &text, const std::vector<std::string> &parts) {
  for (const std::string &part : parts)
    if (text.find(part) == std::string::npos)
      return testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
  return testing::AssertionSuccess();
}

/// Returns the status or message of a sticky error and clears the error.
inline int takeStatus() {
  int status = mxGetLastStatus();
  mxClearError();
  return status;
}
inline std::string takeError() {
  std::string text = mxGetLastError();
  mxClearError();
  return text;
}

/// Returns the configuration of a one-dimensional launch.
inline mxLaunchConfig launchOf(int64_t grid, int64_t block, int64_t cluster = 0,
                               int64_t sharedMemory = 0,
                               mxStream stream = nullptr, int32_t flags = 0) {
  int64_t one = cluster ? 1 : 0;
  return {
      sizeof(mxLaunchConfig), {grid, 1, 1}, {block, 1, 1}, {cluster, one, one},
      sharedMemory,           stream,       flags};
}

/// Launches a function with these parameter values.
template <typename... T>
int launch(mxFunction function, const mxLaunchConfig &config,
           const T &...parameters) {
  void *addresses[] = {const_cast<T *>(&parameters)..., nullptr};
  return mxLaunch(function, &config, addresses, sizeof...(T));
}

#endif // MX_UNITTESTS_RUNTIME_STATUS_H
