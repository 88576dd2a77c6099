//===- Tune.h - Schedule tuning by measurement ------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Implements mx-compile --tune (docs/guide/Tuning.md): times the schedules that
// the model ranks first and stores the fastest in a table.
//===----------------------------------------------------------------------===//

#ifndef MX_AHEADOFTIME_TUNE_H
#define MX_AHEADOFTIME_TUNE_H

#include "mx/AheadOfTime/Compile.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx {

/// Measures the duration of launches and holds the parameters of a measurement.
class Stopwatch {
public:
  virtual ~Stopwatch();
  /// Returns the microseconds of the work that `launch` puts on the default
  /// stream.
  virtual llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) = 0;
  /// Prepares for a turn of a program with these kernels.
  virtual llvm::Error use(const std::string &ptx);

  /// GPU name in the table; empty for the name of the device.
  std::string gpu;
  /// Compare results and reject incorrect schedules.
  bool comparesResults = true;
  /// Warm-up turns, and rounds. In each round every candidate takes a turn.
  int warmUps = 2, rounds = 15;
  /// Minimum duration of a turn, and bounds of its number of launches.
  double turnMicroseconds = 1000;
  int leastLaunches = 4, mostLaunches = 64;
  /// Bytes touched between two uses of the same operands, so that operands are
  /// read from memory and not from a cache.
  size_t bytesBetween = size_t(384) << 20;
};

/// Returns the path of the user's default table: in MX_CACHE_DIR, or in the
/// program cache of the Python package.
std::string getTunedTablePath();

/// Returns a stopwatch based on the simulator's time model, and makes the
/// simulator the device in use. Fails if the simulator does not support `chip`.
/// `ptxas` is as in CompileModuleOptions: prices derive from SASS, or from PTX
/// with "none".
llvm::Expected<std::unique_ptr<Stopwatch>>
makeModelStopwatch(const std::string &chip, const std::string &ptxas);

/// Returns a stopwatch that uses events of the GPU in use. Fails unless it runs
/// kernels of `chip`.
llvm::Expected<std::unique_ptr<Stopwatch>> makeGpuStopwatch(std::string chip);

/// Compile options that result from tuning.
struct Tuned {
  std::string table, gpu;
};

/// Measures the matmuls of `module` as `options` request. Public functions are
/// entries. Matmuls that the table already contains are not measured again.
/// `module` does not change; results are remarks at the matmuls.
llvm::Expected<Tuned> tuneModule(mlir::ModuleOp module,
                                 const CompileModuleOptions &options,
                                 Stopwatch &stopwatch);

} // namespace mx

#endif // MX_AHEADOFTIME_TUNE_H
