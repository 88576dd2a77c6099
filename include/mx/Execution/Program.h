//===- Program.h - A compiled function that takes arrays --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compiles one function of a module for a device, in process, and calls it on
// arrays. The function's arguments are copied to the device before and its
// results from there after each call, so that a call never changes its inputs.
//
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

/// Where a program runs. `Sim` and `CUDA` run the same code on different
/// devices of the runtime.
enum class DeviceKind { CPU, Sim, CUDA };

llvm::StringRef stringifyDeviceKind(DeviceKind device);

struct CompileOptions : DeviceOptions {
  DeviceKind device = DeviceKind::CPU;
  /// When not empty, the module after every pass and the PTX of every kernel
  /// are written to this directory.
  std::string saveTemps;
  /// On the CPU: whether what a call finds wrong with its data ends the
  /// process, as a tool does, or is the error of `run`.
  bool endProcess = true;
};

/// Adds the dialects, translations and interfaces that files, pipelines and
/// the JIT need, and nothing else: start-up time is part of every run.
void registerExecutionDialects(mlir::DialectRegistry &registry);

/// The chip that the GPU of a device runs code for, and sm_100a where there is
/// none.
std::string selectChip(llvm::StringRef device);

/// Chooses the device: "cpu", "sim", "cuda", "cuda:N" or "auto", which is a GPU
/// that runs `chip` where there is one and the simulator elsewhere.
llvm::Expected<DeviceKind> selectDevice(llvm::StringRef name,
                                        const std::string &chip);

/// The function `name` of `module`, if it can be called on arrays.
llvm::Expected<mlir::func::FuncOp> lookupEntry(mlir::ModuleOp module,
                                               llvm::StringRef name);

/// Makes memrefs that an entry is given results, after its own: it may write
/// them. Fails if something calls the entry.
llvm::Error returnMemRefArguments(mlir::func::FuncOp entry);

/// Compares the concrete shapes of the arguments with what the operations of
/// `entry` ask for, as far as shapes can be propagated; diagnostics name the
/// operation.
mlir::LogicalResult verifyShapes(mlir::func::FuncOp entry,
                                 llvm::ArrayRef<NpyArray> arguments);

/// One compiled function.
class Program {
public:
  /// Compiles the function `entry` of `module`, which is lowered in place.
  /// Problems with the IR are reported through the context's diagnostics.
  static llvm::Expected<std::unique_ptr<Program>>
  compile(mlir::ModuleOp module, llvm::StringRef entry,
          const CompileOptions &options);
  virtual ~Program();

  llvm::ArrayRef<ArrayType> argumentTypes() const { return arguments; }
  llvm::ArrayRef<ArrayType> resultTypes() const { return results; }

  /// The same program as one of several ranks, each of which a thread of its
  /// own calls. All of them make theirs at the same time.
  virtual llvm::Expected<std::unique_ptr<Program>> makeRank(Ranks &ranks,
                                                            int rank) = 0;
  /// Who moves bytes between ranks in later calls, on the reference path; a
  /// device has groups of the runtime.
  void setCollectives(HostCollectives *given) { collectives = given; }

  /// Calls the function. Shapes and dtypes of the arrays are checked.
  llvm::Expected<std::vector<NpyArray>>
  run(llvm::ArrayRef<const NpyArray *> inputs);

protected:
  Program() = default;
  /// The same, of arrays that have been checked.
  virtual llvm::Expected<std::vector<NpyArray>>
  call(llvm::ArrayRef<const NpyArray *> inputs) = 0;

  llvm::SmallVector<ArrayType> arguments, results;
  HostCollectives *collectives = nullptr;
};

/// The runtime's last error, which is cleared.
llvm::Error takeRuntimeError();

} // namespace mx

#endif // MX_EXECUTION_PROGRAM_H
