//===- Operands.h - Operands of measured matmuls ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact values are small multiples of powers of two. f32 sums of their products
// are exact in any order, so correct schedules return identical bits. Random
// values are arbitrary finite codes with scales near 1. They make many bits
// toggle, which raises the power and reduces the clock of a GPU.
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_TUNING_OPERANDS_H
#define MX_LIB_AHEADOFTIME_TUNING_OPERANDS_H

#include "Matmuls.h"
#include "mx_program.h"
#include "llvm/Support/Error.h"

namespace mx::tuning {

enum class Values { Exact, Random };

struct FreeOnDevice {
  void operator()(void *memory) const { (void)mxMemFree(memory); }
};
using DeviceBuffer = std::unique_ptr<void, FreeOnDevice>;
llvm::Expected<DeviceBuffer> makeDeviceBuffer(size_t bytes);

/// An argument or a result of a measured function.
struct Slot {
  mlir::Type type;
  Role role = Role::Other; ///< for arguments
  std::vector<int64_t> shape;
  size_t bytes = 0;
  bool isNumber = false;
};

struct Signature {
  std::vector<Slot> arguments, results;
  size_t getBytes() const;
};
Signature getSignature(const MatmulModule &matmul);

/// Returns values, as bytes, for an argument of a matmul with these sizes.
std::vector<uint8_t> makeValues(const Slot &slot, Values values,
                                const mxgpu::MatmulProblem &sizes,
                                uint64_t seed);

/// Converts a runtime status to an error.
llvm::Error toError(int status);

/// Arguments and results on the device.
class OperandSet {
public:
  static llvm::Expected<OperandSet> make(const Signature &signature,
                                         Values values,
                                         const mxgpu::MatmulProblem &sizes);
  /// Copies the set to new device memory.
  llvm::Expected<OperandSet> copy(const Signature &signature) const;
  /// Copies the argument values of `from`, because a matmul may accumulate in
  /// place, and fills the results with zeros.
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
