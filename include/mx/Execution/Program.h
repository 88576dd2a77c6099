//===- Program.h - Compiled functions on arrays -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Compiles a function of a module in process and calls it on arrays. Each call
// copies arguments to the device and results back, and modifies no inputs.
//===----------------------------------------------------------------------===//

#ifndef MX_EXECUTION_PROGRAM_H
#define MX_EXECUTION_PROGRAM_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mx/Arrays/Arrays.h"
#include "mx/Execution/DeviceCode.h"
#include "mx/Execution/Ranks.h"
#include <memory>

namespace mx {

/// Device of a program. `Sim` and `CUDA` run the same code on the runtime.
enum class DeviceKind { CPU, Sim, CUDA };

llvm::StringRef stringifyDeviceKind(DeviceKind device);

struct CompileOptions : DeviceOptions {
  DeviceKind device = DeviceKind::CPU;
  /// Directory for the IR after every pass and all PTX; empty to disable.
  std::string saveTemps;
  /// CPU only: end the process if a call finds invalid data, as tools do.
  /// Otherwise `run` returns the error.
  bool endProcess = true;
};

/// Registers only the dialects, translations and interfaces that files,
/// pipelines and the JIT need, because start-up time is part of every run.
void registerExecutionDialects(mlir::DialectRegistry &registry);

/// Returns the chip of the GPU of a device, or sm_100a without a GPU.
std::string selectChip(llvm::StringRef device);

/// Returns the device for "cpu", "sim", "cuda", "cuda:N" or "auto". "auto"
/// selects a GPU that runs `chip`, otherwise the simulator.
llvm::Expected<DeviceKind> selectDevice(llvm::StringRef name,
                                        const std::string &chip);

/// Returns the function `name`. Fails unless it can be called on arrays.
llvm::Expected<mlir::func::FuncOp> lookupEntry(mlir::ModuleOp module,
                                               llvm::StringRef name);

/// Appends the memref arguments of an entry to its results, because the
/// function may write them. Fails if the entry has callers.
llvm::Error returnMemRefArguments(mlir::func::FuncOp entry);

/// Checks the shapes of the arguments against the operations of `entry`, as far
/// as shapes can be propagated. Diagnostics point to the operation.
mlir::LogicalResult verifyShapes(mlir::func::FuncOp entry,
                                 llvm::ArrayRef<NpyArray> arguments);

class Program {
public:
  /// Compiles the function `entry` of `module`, which is lowered in place.
  /// Errors in the IR are reported as diagnostics of the context.
  static llvm::Expected<std::unique_ptr<Program>>
  compile(mlir::ModuleOp module, llvm::StringRef entry,
          const CompileOptions &options);
  virtual ~Program();

  llvm::ArrayRef<ArrayType> resultTypes() const { return results; }

  /// Returns this program for a rank. Each rank runs in a separate thread, and
  /// all ranks must call this function concurrently.
  virtual llvm::Expected<std::unique_ptr<Program>> makeRank(Ranks &ranks,
                                                            int rank) = 0;
  /// Sets the collectives of later calls on the reference path. Programs on a
  /// device use the rank groups of the runtime.
  void setCollectives(HostCollectives *given) { collectives = given; }

  /// Checks dtypes and shapes of `inputs` and calls the function.
  llvm::Expected<std::vector<NpyArray>>
  run(llvm::ArrayRef<const NpyArray *> inputs);

protected:
  Program() = default;
  /// Calls the function on checked arrays.
  virtual llvm::Expected<std::vector<NpyArray>>
  call(llvm::ArrayRef<const NpyArray *> inputs) = 0;

  llvm::SmallVector<ArrayType> arguments, results;
  HostCollectives *collectives = nullptr;
};

/// Clears and returns the runtime's last error.
llvm::Error takeRuntimeError();

} // namespace mx

#endif // MX_EXECUTION_PROGRAM_H
