//===- Simulator.h - Fixture of tests on the simulator ----------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Selects the simulated device and provides memory and kernels to tests.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_SIMULATOR_H
#define MX_UNITTESTS_RUNTIME_SIMULATOR_H

#include "Status.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <vector>

inline std::string readFile(const std::string &path) {
  std::ifstream file(path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}
inline std::string readKernels() { return readFile(MX_TEST_KERNELS); }

class Simulator : public testing::Test {
protected:
  static void SetUpTestSuite() {
    // Simulates a machine without a driver.
    setenv("MX_CUDA_DRIVER", "/no/such/libcuda.so", 1);
  }
  void SetUp() override {
    mxSetErrorPolicy(MX_ERRORS_RETURN);
    mxClearError();
    ASSERT_SUCCESS(mxSetDevice("sim"));
  }
  void TearDown() override {
    for (void *memory : allocations)
      EXPECT_SUCCESS(mxMemFree(memory));
  }

  /// Allocates memory until TearDown.
  void *alloc(size_t bytes) {
    void *memory = nullptr;
    EXPECT_SUCCESS(mxMemAlloc(&memory, bytes));
    allocations.push_back(memory);
    return memory;
  }
  template <typename T>
  void *upload(const std::vector<T> &values) {
    void *memory = alloc(values.size() * sizeof(T));
    EXPECT_SUCCESS(mxMemcpyToDevice(memory, values.data(),
                                    values.size() * sizeof(T), nullptr));
    return memory;
  }

  std::vector<void *> allocations;
};

#endif // MX_UNITTESTS_RUNTIME_SIMULATOR_H
