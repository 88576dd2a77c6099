//===- Devices.h - Four simulated devices for tests -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_DEVICES_H
#define MX_UNITTESTS_RUNTIME_DEVICES_H

#include "Status.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

inline constexpr int kDevices = 4;

/// Sets the number of devices before the runtime reads the environment.
inline const bool isSet = [] {
  setenv("MX_SIM_DEVICES", "4", 1);
  setenv("MX_CUDA_DRIVER", "/no/such/libcuda.so", 1);
  return true;
}();

inline std::string readFile(const char *path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::string deviceName(int number) {
  return "sim:" + std::to_string(number);
}

class Devices : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_SUCCESS(mxSetErrorPolicy(MX_ERRORS_RETURN));
    mxClearError();
    use(0);
  }
  static void use(int number) {
    ASSERT_SUCCESS(mxSetDevice(deviceName(number).c_str()));
  }
  static std::string deviceOf(const void *memory) {
    mxDeviceInfo info = mxSized<mxDeviceInfo>();
    return mxGetMemoryDevice(memory, &info) ? mxGetThreadError() : info.device;
  }
  static std::string current() {
    mxDeviceInfo info = mxSized<mxDeviceInfo>();
    return mxGetDeviceInfo(&info) ? mxGetThreadError() : info.device;
  }
};

#endif // MX_UNITTESTS_RUNTIME_DEVICES_H
