//===- Operands.h - What measured matmuls multiply --------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Values for two purposes. Exact ones are small multiples of powers of two,
// whose sums of products f32 holds exactly in any order: with these all
// schedules give the same bits, or one of them is wrong. Random ones are any
// finite codes, with scales near 1: a GPU takes more power, and so has a lower
// clock, for bits that change.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_TUNING_OPERANDS_H
#define MX_LIB_AHEADOFTIME_TUNING_OPERANDS_H

#include "Matmuls.h"
#include "mx_program.h"
#include "llvm/Support/Error.h"

namespace mx::tuning {

enum class Values { Exact, Random };

/// Memory of the device in use, which is given back.
struct FreeOnDevice {
  void operator()(void *memory) const { (void)mxMemFree(memory); }
};
using DeviceBuffer = std::unique_ptr<void, FreeOnDevice>;
llvm::Expected<DeviceBuffer> makeDeviceBuffer(size_t bytes);

/// An argument or a result of a measured function.
struct Slot {
  mlir::Type type;
  Role role = Role::Other; ///< of an argument
  std::vector<int64_t> shape;
  size_t bytes = 0;
  bool isNumber = false;
};

/// Those of the function of a module.
struct Signature {
  std::vector<Slot> arguments, results;
  /// Bytes of all of them.
  size_t getBytes() const;
};
Signature getSignature(const MatmulModule &matmul);

/// The bytes of an argument of a matmul of these sizes.
std::vector<uint8_t> makeValues(const Slot &slot, Values values,
                                const mxgpu::MatmulProblem &sizes,
                                uint64_t seed);

/// The error that the status of a call of the runtime stands for.
llvm::Error toError(int status);

/// Arguments and results on the device.
class OperandSet {
public:
  static llvm::Expected<OperandSet> make(const Signature &signature,
                                         Values values,
                                         const mxgpu::MatmulProblem &sizes);
  /// With the same values at other addresses.
  llvm::Expected<OperandSet> copy(const Signature &signature) const;
  /// Gives the arguments the values that those of `from` have: a matmul may
  /// add to an argument in place. What results hold is zeros.
  llvm::Error reset(const Signature &signature, const OperandSet &from) const;

  llvm::ArrayRef<mxArgument> getArguments() const { return arguments; }
  llvm::ArrayRef<void *> getResults() const { return results; }

private:
  llvm::Error addResults(const Signature &signature);
  llvm::Error addArgument(const Slot &slot,
                          llvm::function_ref<int(void *place)> fill);

  std::vector<DeviceBuffer> buffers;
  std::vector<std::vector<uint8_t>> numbers;
  std::vector<mxArgument> arguments;
  std::vector<void *> results;
};

} // namespace mx::tuning

#endif // MX_LIB_AHEADOFTIME_TUNING_OPERANDS_H
