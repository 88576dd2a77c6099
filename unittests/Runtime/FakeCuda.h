//===- FakeCuda.h - A CUDA driver that only takes notes ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libcuda, so that what the runtime asks of the driver can be
// tested without a GPU.
//===----------------------------------------------------------------------===//

#ifndef MX_UNITTESTS_RUNTIME_FAKECUDA_H
#define MX_UNITTESTS_RUNTIME_FAKECUDA_H

#include <string>
#include <vector>

struct FakeCuda {
  // What the machine is like. Set these before the runtime first asks.
  int version = 12080;
  /// MX_FAKE_CUDA_CAPABILITY=12.0 gives another one from outside.
  int capabilityMajor = 9, capabilityMinor = 0;
  int devices = 1;

  /// The kernels that every module has, and their parameters.
  std::vector<std::string> kernels = {"kernel"};
  int parameters = 2;
  int staticShared = 1024;
  int requiredCluster[3] = {0, 0, 0};

  /// Whether modules have the kernels and parameters of their PTX instead, and
  /// launches last a microsecond for each 1000 bytes of dynamic shared memory;
  /// MX_FAKE_CUDA_READS_PTX=1 asks for it from outside.
  bool readsPtx = false;
  /// The launches of modules of PTX with so much dynamic shared memory write a
  /// byte to what was filled last, as a wrong kernel would;
  /// MX_FAKE_CUDA_WRONG_SHARED asks for it from outside.
  unsigned wrongShared = 0;
  /// Between any two events, where launches do not say how long they last.
  float milliseconds = 0.5f;

  /// The next call of this function fails with this result.
  std::string failing;
  int failure = 0;
  std::string jitLog;

  /// One line per call that changes or uses something; of other devices than
  /// the first it ends in " on 1". What belongs to a context is refused in
  /// another one.
  std::vector<std::string> log;
  /// The devices whose contexts are pushed and not popped; none between calls.
  std::vector<int> contexts;
  int liveAllocations = 0;
  /// The stream that a graph captures.
  void *capturing = nullptr;
};

extern "C" __attribute__((visibility("default"))) FakeCuda *fakeCuda();
/// Memory is of another device from now on.
extern "C" __attribute__((visibility("default"))) void
fakeCudaMove(void *memory, int device);
/// The log so far, a call a line, for hosts that know no C++; it is empty then.
/// Valid until the next call.
extern "C" __attribute__((visibility("default"))) const char *fakeCudaTakeLog();

#endif // MX_UNITTESTS_RUNTIME_FAKECUDA_H
