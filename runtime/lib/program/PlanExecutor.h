//===- PlanExecutor.h - Execution of one call of an entry -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers are computed first, so argument errors are found before the first
// launch. Steps then run in order. Their commands are deferred until the plan
// ends or waits for a number from the device, so nothing is launched by a call
// that fails earlier.
//
// If a size is known only at run time, a step of the plan allocates the memory.
// Memory to which no buffer refers is reused. All memory except the results is
// freed after the device has completed the call.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_PLANEXECUTOR_H
#define MX_RUNTIME_LIB_PROGRAM_PLANEXECUTOR_H

#include "Commands.h"
#include "Program.h"

namespace mx::runtime {

/// Working memory of a call. Reused by all calls of a thread, so a launch
/// allocates nothing.
struct Scratch {
  plan::Inputs inputs;
  plan::Numbers numbers;
  std::vector<std::array<uint8_t, target::kTensorMapBytes>> maps;
  /// Buffers that the maps describe.
  std::vector<plan::Buffer> mapBuffers;
  /// Size of each allocation in `numbers.taken`, or 0 if the caller is now the
  /// owner.
  std::vector<int64_t> capacities;
  /// Commands of the call, both submitted and deferred.
  Commands commands;
  /// Arguments of the tensor map being encoded.
  std::vector<int64_t> dims, strides;
  std::vector<int32_t> box;
  /// Number results, in order.
  std::vector<int64_t> resultNumbers;
  /// Position of the current step in each enclosing block.
  std::vector<size_t> position;
};

class LaunchCache;

inline void *toPointer(int64_t address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

class PlanExecutor {
public:
  /// Creates an executor. `loaded` is the program on the device; if null, only
  /// sizes can be computed. `groups` contains all groups of the program.
  PlanExecutor(const Entry &entry, Device &device,
               const ProgramOnDevice *loaded, const BoundGroupList *groups,
               const Call &call);
  ~PlanExecutor();
  PlanExecutor(const PlanExecutor &) = delete;
  PlanExecutor &operator=(const PlanExecutor &) = delete;

  /// Computes all numbers known before the steps. If `withAddresses` is set,
  /// fails unless the addresses of arguments, results and workspace are valid.
  Error prepare(bool withAddresses);
  const plan::Numbers &getNumbers() const { return numbers; }
  /// Runs the plan and stores its commands in `cache` unless that is null.
  Error run(LaunchCache *cache);

private:
  Error readArguments();
  void readGroups();
  std::string checkAddress(plan::Buffer buffer) const;
  Error checkMemory();
  Error encode(size_t index, const plan::TensorMap &map);
  void findNumbers();

  // PlanExecutorMemory.cpp
  Error getMemory(int64_t bytes, plan::Buffer &buffer);
  /// Finds or creates an unused allocation of at least `bytes`.
  Error findMemory(int64_t bytes, size_t &index);
  Error allocate(int64_t bytes, void *&memory);
  /// Frees unreferenced memory after the device has completed the call.
  Error release();
  std::vector<bool> findShown() const;
  Error giveResults();

  // PlanExecutorSteps.cpp
  Error take(const std::vector<plan::Step> &steps);
  Error take(const plan::Step &step);
  Error takeChecked(const plan::Step &step,
                    Error (PlanExecutor::*takeStep)(const plan::Step &));
  Error takeLaunch(const plan::Step &step);
  Error takeCollective(const plan::Step &step);
  Error takeWait(const plan::Step &step);
  Error takeMove(const plan::Step &step);
  Error takeCompute(const plan::Step &step);
  Error takeRead(const plan::Step &step);
  void takeChoose(const plan::Step &step);
  Error takeMemory(const plan::Step &step);
  Error takeIf(const plan::Step &step);
  Error takeSwitch(const plan::Step &step);
  Error takeFor(const plan::Step &step);
  Error takeWhile(const plan::Step &step);
  Error takeBlock(const plan::Block &block,
                  const std::vector<plan::Operand> &names);
  void assign(const std::vector<plan::Operand> &names,
              const std::vector<plan::Operand> &values);
  void store(const plan::Parameter &parameter, uint8_t *place) const;
  Error flushIfFull();
  void giveBackScratch();
  /// Submits the deferred commands.
  Error submit();
  Error count();
  /// Returns an error at the current step.
  Error atStep(const std::string &text) const;

  const Entry &entry;
  const plan::Entry &plan;
  Device &device;
  const ProgramOnDevice *loaded;
  const BoundGroupList *groups;
  const Call &call;
  std::unique_ptr<Scratch> own;
  Scratch &scratch = *own;
  plan::Inputs &inputs = scratch.inputs;
  plan::Numbers &numbers = scratch.numbers;
  int64_t stepCount = 0;
  /// True once Scratch::commands no longer contains all commands of the call.
  bool hasBegun = false;
};

/// Reads an integer of type `dtype`: an argument, or a number copied from the
/// device.
int64_t readInteger(const std::string &dtype, const void *data);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_PLANEXECUTOR_H
