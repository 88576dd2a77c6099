//===- Matmuls.h - The matmuls that are measured ----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_TUNING_MATMULS_H
#define MX_LIB_AHEADOFTIME_TUNING_MATMULS_H

#include "mx/AheadOfTime/Tune.h"
#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mx/Target/TargetInfo.h"

namespace mx::tuning {

/// A matmul of a module, at one choice of all of its sizes.
struct SizedMatmul {
  mxgpu::MatmulProblem problem;
  /// Schedules worth a measurement, the model's choice first.
  std::vector<mxgpu::ScheduleAttr> candidates;
  /// The case of the matmul that these sizes are in; of one with a schedule
  /// for all sizes 0.
  size_t index = 0;
};

struct Matmul {
  MatmulOpInterface op;
  std::string form; ///< mxgpu::getMatmulForm()
  /// Of sizes that types leave open: none where they do not.
  std::vector<mxgpu::ScheduleCase> cases;
  std::vector<SizedMatmul> sizes;
};

/// Lowers `module` to its matmuls.
llvm::LogicalResult lowerToMatmuls(mlir::ModuleOp module,
                                   const CompileModuleOptions &options);

/// The matmuls of a lowered module that the model has a choice for, each form
/// once. Those with a schedule of their own are left out; those that cannot be
/// measured too, after a remark.
std::vector<Matmul> findMatmuls(mlir::ModuleOp module,
                                const CompileModuleOptions &options,
                                const target::TargetInfo &target);

/// What an argument of a measured function is, by which it gets its values.
enum class Role { Elements, Scales, Offsets, Counts, Rows, Alpha, Other };

/// A module with one function, which computes the matmul alone.
struct MatmulModule {
  static constexpr const char *kEntry = "matmul";
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Role> roles; ///< of the arguments
};

/// Of a matmul with these sizes and no schedule; an error where it cannot be
/// computed by a function of its own.
llvm::Expected<MatmulModule> isolate(MatmulOpInterface op,
                                     const mxgpu::MatmulProblem &sizes);

/// The matmul of such a module.
MatmulOpInterface getMatmul(mlir::ModuleOp module);

/// Times all candidates at these sizes. Those that do not compile, do not run,
/// or give other bits than the first one, are left out. An error where nothing
/// can be measured.
llvm::Expected<mxgpu::TunedSizes>
measureSchedules(MatmulOpInterface op, const SizedMatmul &sized,
                 const CompileModuleOptions &options, Stopwatch &stopwatch);

} // namespace mx::tuning

#endif // MX_LIB_AHEADOFTIME_TUNING_MATMULS_H
