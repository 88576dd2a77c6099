//===- Tune.h - Measure which schedules are fastest -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// What mx-compile --tune does before it compiles (docs/guide/Tuning.md): it
// times the schedules that the model ranks first on the GPU that is there, and
// keeps the fastest in a table.
//
//===----------------------------------------------------------------------===//

#ifndef MX_AHEADOFTIME_TUNE_H
#define MX_AHEADOFTIME_TUNE_H

#include "mx/AheadOfTime/Compile.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace mx {

/// Tells how long launches take, and how often to ask.
class Stopwatch {
public:
  virtual ~Stopwatch();
  /// Microseconds that what `launch` puts on the default stream takes.
  virtual llvm::Expected<double>
  measure(llvm::function_ref<llvm::Error()> launch) = 0;
  /// Before a turn of a program with these kernels.
  virtual llvm::Error use(const std::string &ptx);

  /// What the table calls the GPU; empty: its own name.
  std::string gpu;
  /// Whether results are compared, so that wrong ones are left out.
  bool comparesResults = true;
  /// Turns that do not count, then rounds, in each of which all candidates take
  /// a turn.
  int warmUps = 2, rounds = 15;
  /// What a turn should take at least, and how many launches it has.
  double turnMicroseconds = 1000;
  int leastLaunches = 4, mostLaunches = 64;
  /// Bytes that lie between two uses of the same operands, so that they come
  /// from memory and not from a cache.
  size_t bytesBetween = size_t(384) << 20;
};

/// The table of this user, where none is named: in MX_CACHE_DIR, or else the
/// folder in which the Python package keeps programs.
std::string getTunedTablePath();

/// By the simulator's model of time, which becomes the device in use, for
/// kernels of a chip that it knows. `ptxas`: as CompileModuleOptions has it;
/// what it makes of kernels prices their instructions, or with "none" their PTX
/// does.
llvm::Expected<std::unique_ptr<Stopwatch>>
makeModelStopwatch(const std::string &chip, const std::string &ptxas);

/// By the events of the GPU in use; an error where that is none of `chip`.
llvm::Expected<std::unique_ptr<Stopwatch>> makeGpuStopwatch(std::string chip);

/// What a tuned module is compiled with.
struct Tuned {
  std::string table, gpu;
};

/// Measures the matmuls of `module`, whose public functions are entries, as
/// `options` ask; what its table knows already is not measured again. The
/// module stays as it is. Remarks at the matmuls say what was found.
llvm::Expected<Tuned> tuneModule(mlir::ModuleOp module,
                                 const CompileModuleOptions &options,
                                 Stopwatch &stopwatch);

} // namespace mx

#endif // MX_AHEADOFTIME_TUNE_H
