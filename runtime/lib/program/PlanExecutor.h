//===- PlanExecutor.h - One call of an entry --------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers first: whatever is wrong with the arguments is found before anything
// is launched. Then the steps are taken in order. What they put on the stream
// is kept back until the plan has ended, or must wait for a number from the
// device: a call that is refused before that has launched nothing.
//
// Memory whose size only the run knows is taken on the way. What no name shows
// any more is taken again; all but what becomes a result is given back when the
// device has done the call.
//===----------------------------------------------------------------------===//

#ifndef MX_RUNTIME_LIB_PROGRAM_PLANEXECUTOR_H
#define MX_RUNTIME_LIB_PROGRAM_PLANEXECUTOR_H

#include "Commands.h"
#include "Program.h"

namespace mx::runtime {

/// What a call fills in. A thread's calls use the same memory one after
/// another, so that a launch allocates nothing for itself.
struct Scratch {
  plan::Inputs inputs;
  plan::Numbers numbers;
  std::vector<std::array<uint8_t, target::kTensorMapBytes>> maps;
  /// What the maps show.
  std::vector<plan::Buffer> mapBuffers;
  /// Bytes of each allocation of `numbers.taken`; 0 where it was given away.
  std::vector<int64_t> capacities;
  /// What was put on the stream, or will be.
  Commands commands;
  /// Of the tensor map that is encoded.
  std::vector<int64_t> dims, strides;
  std::vector<int32_t> box;
  /// Of the results that are numbers, in order.
  std::vector<int64_t> resultNumbers;
  /// Of the step that is being taken, in each block around it.
  std::vector<size_t> position;
};

class LaunchCache;

inline void *toPointer(int64_t address) {
  return reinterpret_cast<void *>(uintptr_t(address));
}

class PlanExecutor {
public:
  /// `loaded` is what the program has on the device; null for what only
  /// computes sizes. All groups of the program are among `groups`.
  PlanExecutor(const Entry &entry, Device &device,
               const ProgramOnDevice *loaded, const BoundGroupList *groups,
               const Call &call);
  ~PlanExecutor();
  PlanExecutor(const PlanExecutor &) = delete;
  PlanExecutor &operator=(const PlanExecutor &) = delete;

  /// Computes all numbers that are known before the steps; with addresses those
  /// of the call must be there.
  Error prepare(bool withAddresses);
  const plan::Numbers &getNumbers() const { return numbers; }
  /// What the call puts on the stream in the end stays in `cache`, if there is
  /// one.
  Error run(LaunchCache *cache);

private:
  Error readArguments();
  void readGroups();
  std::string checkAddress(plan::Buffer buffer) const;
  Error checkMemory();
  Error encode(size_t index, const plan::TensorMap &map);
  void findNumbers();

  // Memory.cpp
  Error getMemory(int64_t bytes, plan::Buffer &buffer);
  /// The memory of a new or an unused allocation of at least `bytes`.
  Error findMemory(int64_t bytes, size_t &index);
  Error allocate(int64_t bytes, void *&memory);
  /// Gives back, once the device has done its work, what nothing shows.
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
  /// Puts on the stream what was kept back.
  Error submit();
  Error count();
  /// An error of the step that is being taken.
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
  /// Whether Scratch::commands no longer has all of the call.
  bool hasBegun = false;
};

/// The value of an argument or of a number of the device that is an integer.
int64_t readInteger(const std::string &dtype, const void *data);

} // namespace mx::runtime

#endif // MX_RUNTIME_LIB_PROGRAM_PLANEXECUTOR_H
