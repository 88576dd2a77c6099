//===- Matmuls.h - Matmuls to measure ---------------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_AHEADOFTIME_TUNING_MATMULS_H
#define MX_LIB_AHEADOFTIME_TUNING_MATMULS_H

#include "mx/AheadOfTime/Tune.h"
#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Conversion/MXToMXGPU/TunedSchedules.h"
#include "mx/Target/TargetInfo.h"

namespace mx::tuning {

/// A matmul of the module with a choice of static sizes.
struct SizedMatmul {
  mxgpu::MatmulProblem problem;
  /// Schedules to measure, the model's choice first.
  std::vector<mxgpu::ScheduleAttr> candidates;
  /// Index of the schedule case for these sizes, or 0 without cases.
  size_t index = 0;
};

struct Matmul {
  MatmulOpInterface op;
  std::string form; ///< from mxgpu::getMatmulForm()
  /// Cases of dynamic sizes; empty for static sizes.
  std::vector<mxgpu::ScheduleCase> cases;
  std::vector<SizedMatmul> sizes;
};

llvm::LogicalResult lowerToMatmuls(mlir::ModuleOp module,
                                   const CompileModuleOptions &options);

/// Returns the matmuls of a lowered module for which the model chooses
/// schedules, without duplicate forms. Excludes matmuls with an explicit
/// schedule, and, after a remark, matmuls that cannot be measured.
std::vector<Matmul> findMatmuls(mlir::ModuleOp module,
                                const CompileModuleOptions &options,
                                const target::TargetInfo &target);

/// Role of a measured function's argument, which determines its values.
enum class Role { Elements, Scales, Offsets, Counts, Rows, Alpha, Other };

/// Module with a function that computes a single matmul.
struct MatmulModule {
  static constexpr const char *kEntry = "matmul";
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<Role> roles; ///< roles of the arguments
};

/// Builds a module for a matmul with these sizes and without a schedule. Fails
/// if the matmul cannot be isolated.
llvm::Expected<MatmulModule> isolate(MatmulOpInterface op,
                                     const mxgpu::MatmulProblem &sizes);

/// Returns the matmul of a module built by `isolate`.
MatmulOpInterface getMatmul(mlir::ModuleOp module);

/// Times all candidates at these sizes. Excludes candidates that fail to
/// compile or run, or differ from the first candidate in any bit of a result.
/// Fails if no candidate can be measured.
llvm::Expected<mxgpu::TunedSizes>
measureSchedules(MatmulOpInterface op, const SizedMatmul &sized,
                 const CompileModuleOptions &options, Stopwatch &stopwatch);

} // namespace mx::tuning

#endif // MX_LIB_AHEADOFTIME_TUNING_MATMULS_H
