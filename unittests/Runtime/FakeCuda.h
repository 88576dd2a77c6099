//===- FakeCuda.h - Fake CUDA driver ----------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Replaces libcuda to test the runtime's driver calls without a GPU.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_FAKECUDA_H
#define MX_UNITTESTS_RUNTIME_FAKECUDA_H

#include <string>
#include <vector>

struct FakeCuda {
  // Properties of the machine. Set them before the first driver call.
  int version = 12080;
  /// Overridden by the variable MX_FAKE_CUDA_CAPABILITY, such as 12.0.
  int capabilityMajor = 9, capabilityMinor = 0;
  int devices = 1;

  /// Kernels and parameters of every module.
  std::vector<std::string> kernels = {"kernel"};
  int parameters = 2;
  int staticShared = 1024;
  int requiredCluster[3] = {0, 0, 0};

  /// Reads kernels and parameters from the PTX of modules instead. A launch
  /// then takes a microsecond for each 1000 bytes of dynamic shared memory.
  /// MX_FAKE_CUDA_READS_PTX=1 sets this field.
  bool readsPtx = false;
  /// Launches with this number of bytes of dynamic shared memory write a byte
  /// to the memory that was filled last, like a wrong kernel. Use only with PTX
  /// modules. MX_FAKE_CUDA_WRONG_SHARED sets this field.
  unsigned wrongShared = 0;
  /// Time between any two events, unless launches define their duration.
  float milliseconds = 0.5f;

  /// The next call of the function `failing` returns `failure`.
  std::string failing;
  int failure = 0;
  std::string jitLog;

  /// One line per call that changes or uses an object. Lines for a device other
  /// than the first end in a suffix such as " on 1". A call fails if an object
  /// belongs to another context.
  std::vector<std::string> log;
  /// Devices of the contexts on the stack; empty between calls.
  std::vector<int> contexts;
  int liveAllocations = 0;
  /// The stream being captured into a graph.
  void *capturing = nullptr;
};

extern "C" __attribute__((visibility("default"))) FakeCuda *fakeCuda();
/// Moves memory to another device.
extern "C" __attribute__((visibility("default"))) void
fakeCudaMove(void *memory, int device);
/// Returns the log with one call per line, and clears it. The string is valid
/// until the next call of this function. Used by hosts in languages other than
/// C++.
extern "C" __attribute__((visibility("default"))) const char *fakeCudaTakeLog();

#endif // MX_UNITTESTS_RUNTIME_FAKECUDA_H
