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

/// Measures launch durations and contains the parameters of a measurement.
class Stopwatch {
public:
  virtual ~Stopwatch();
  /// Returns the time in microseconds of the work that `launch` enqueues on the
  /// default stream.
  virtual llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) = 0;
  /// Prepares the next turn, the timed launches of a program, with this PTX.
  virtual llvm::Error use(const std::string &ptx);

  /// GPU name in the table; empty selects the name of the device.
  std::string gpu;
  /// Compare results and reject incorrect schedules.
  bool comparesResults = true;
  /// Number of warm-up turns, and of rounds in which every candidate has a
  /// turn.
  int warmUps = 2, rounds = 15;
  /// Minimum duration of a turn, and limits on the number of launches per turn.
  double turnMicroseconds = 1000;
  int leastLaunches = 4, mostLaunches = 64;
  /// Bytes touched between two uses of the same operands, so operands are
  /// read from memory and not from a cache.
  size_t bytesBetween = size_t(384) << 20;
};

/// Returns the path of the user's default table: in MX_CACHE_DIR, or in the
/// program cache of the Python package.
std::string getTunedTablePath();

/// Returns a stopwatch that uses the simulator's time model, and makes the
/// simulator the current device. Fails if the simulator does not support
/// `chip`. `ptxas` is as in CompileModuleOptions. The model prices SASS
/// instructions, or PTX instructions if `ptxas` is "none".
llvm::Expected<std::unique_ptr<Stopwatch>>
makeModelStopwatch(const std::string &chip, const std::string &ptxas);

/// Returns a stopwatch that uses events of the current GPU. Fails unless this
/// GPU runs kernels of `chip`.
llvm::Expected<std::unique_ptr<Stopwatch>> makeGpuStopwatch(std::string chip);

/// Compile options that result from tuning.
struct Tuned {
  std::string table, gpu;
};

/// Measures the matmuls of all public functions of `module` as `options`
/// request, except matmuls that the table already contains. Reports results as
/// remarks at the matmuls and does not change `module`.
llvm::Expected<Tuned> tuneModule(mlir::ModuleOp module,
                                 const CompileModuleOptions &options,
                                 Stopwatch &stopwatch);

} // namespace mx

#endif // MX_AHEADOFTIME_TUNE_H
