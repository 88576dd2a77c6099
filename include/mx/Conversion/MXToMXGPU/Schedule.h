//===- Schedule.h - Buffers and rules of schedules ------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Defines the stage contents of each ring of a matmul and the rules that reject
// a schedule. Kernel construction, the schedule choice, mxgpu-lower-rings and
// --mx-explain all use this layout.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
#define MX_CONVERSION_MXTOMXGPU_SCHEDULE_H

#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/OperandForms.h"
#include "llvm/Support/FormatVariadic.h"

namespace mx::mxgpu {

/// Operand types of an MMA. `blockSize` and `scaleFormat` are unused if both
/// types are bf16.
struct OperandTypes {
  target::MmaType a, b;
  unsigned blockSize;
  /// None if no MMA instruction supports the scale format.
  std::optional<FloatFormat> scaleFormat;

  bool hasScalesOfA() const { return a != target::MmaType::BF16; }
  bool hasScalesOfB() const { return b != target::MmaType::BF16; }
};

/// Strategy of an MMA instruction
/// (lib/Conversion/MXToMXGPU/Matmul/Strategies/Strategy.h).
class Strategy;

/// The properties of a matmul that a schedule depends on.
struct MatmulProblem {
  /// Strategies that support the matmul, at least one. The first is the
  /// default; `mma` describes its instruction.
  llvm::SmallVector<const Strategy *, 2> strategies;
  target::MmaForm mma{};
  /// Element types of the operands, the scales (null without scales) and the
  /// result.
  mlir::Type a, b, scales, out;
  bool accumulate = false;
  /// True if an epilogue region computes the result.
  bool hasEpilogue = false;
  /// Number of B matrices, and so of accumulators passed to the epilogue.
  /// `isQuantized`: the epilogue's result is quantized.
  int64_t numB = 1;
  bool isQuantized = false;
  /// Orders of the operands, or null. `isPackedB`: B is in
  /// #mxgpu.fragment_64x64.
  OperandOrderAttrInterface aOrder, bOrder;
  bool isPackedB = false;
  /// Operand in a workspace whose reduction may be permuted, while MMA threads
  /// dequantize the other operand.
  Workspace canPermute = Workspace::None;
  /// True if a quantizer in the same function writes an operand, so that each
  /// call computes new scales.
  bool isQuantizedHere = false;
  /// True if rows are added to indexed rows of the result.
  bool isScattered = false;
  /// Dimension that the expert groups divide. `isMasked`: each expert group
  /// owns a matrix, which is modelled as full.
  RaggedKind ragged = RaggedKind::None;
  bool isMasked = false;
  /// Sizes over all expert groups and all B matrices, or ShapedType::kDynamic.
  int64_t m = mlir::ShapedType::kDynamic;
  int64_t n = mlir::ShapedType::kDynamic;
  int64_t k = mlir::ShapedType::kDynamic;
  int64_t groups = 1; ///< expert groups, or matrices of a batch

  /// True if the operand is block scaled. Other operands are bf16 and are
  /// multiplied by a dequantized operand.
  bool hasScalesOfA() const { return !llvm::isa<mlir::BFloat16Type>(a); }
  bool hasScalesOfB() const { return !llvm::isa<mlir::BFloat16Type>(b); }
  bool hasScales() const;
  int64_t getOutBits() const;
  /// Returns the reduction elements covered by one 512-byte tile of scales.
  int64_t getScaleTileK() const;
  /// Bytes of a scale, 1 without scales.
  int64_t getScaleBytes() const;
};

/// Returns the problem of `op` after the operands in `workspace` are
/// dequantized, or none if `target` does not support its operands.
std::optional<MatmulProblem>
getMatmulProblem(MatmulOpInterface op, const target::TargetInfo &target,
                 Workspace workspace = Workspace::None);

/// Sets the strategies of `problem` that support `types` and the operand orders
/// on `target`. Returns false if there are none.
bool matchStrategies(MatmulProblem &problem, const OperandTypes &types,
                     const target::TargetInfo &target);

/// Returns true if `workspace` includes the operand.
bool holdsA(Workspace workspace);
bool holdsB(Workspace workspace);

/// Returns the reason why `workspace` cannot be dequantized first or
/// `permuted`, which may be bf16, cannot be permuted. Empty if both are
/// possible.
std::string explainNoWorkspace(MatmulOpInterface op, Workspace workspace,
                               Workspace permuted,
                               const target::TargetInfo &target);

/// Returns the operand that the strategy of `fields` permutes, if any.
Workspace getPermuted(const ScheduleFields &fields);

/// Returns the reason why the reduction of a bf16 operand cannot be permuted,
/// or an empty string.
std::string explainNotPermuted(const MatmulProblem &problem,
                               Workspace permuted);

/// Buffers, MMA and warps of a kernel. Rings that the kernel does not use are
/// null.
struct MatmulBuffers {
  /// Loads to MMAs or converters: fields "a", "sfa" (if A has scales), "b" and
  /// "sfb". Kernels that dequantize load B through `bInputs`.
  RingType inputs, bInputs;
  RingType getBInputs() const;
  /// Dequantized B for the tensor core, field "b".
  RingType operands;
  /// Tensor core to epilogue, field "d".
  RingType accumulators;
  /// Rows for bulk stores (field "c"), and work tiles broadcast to all warps
  /// (field "work_tile").
  RingType staging, workTiles;
  /// Scales in tensor memory and their number of buffers.
  ScalesType aScales, bScales;
  int64_t scaleStages = 1;
  /// The MMA of a stage.
  MmaAttrInterface mma;
  /// Accumulator fragment of the epilogue threads.
  FragmentLayoutAttr accumulatorLayout;
  /// Bytes of a partial accumulator sent to another CTA of the cluster, or 0.
  int64_t partialBytes = 0;
  /// Epilogue warps, and warps of all other roles but that of `workTiles`.
  int64_t epilogueWarps = 0, otherWarps = 0;
};

/// Returns the buffers of a schedule with known stages. Results that bulk
/// stores cannot write are not staged.
MatmulBuffers getBuffers(const MatmulProblem &problem,
                         const ScheduleFields &fields);

/// Shared and tensor memory of a CTA.
struct ScheduleBudget : MemoryLayout {
  ScheduleBudget(const MatmulBuffers &buffers,
                 const target::TargetInfo &target);

  MatmulBuffers buffers;
  /// Columns rounded up to an allocation, or 0 if they do not fit.
  int64_t tmemAllocated;
  int64_t threads;
};

/// Warps of an epilogue that reads tensor memory; each can access a quarter.
inline constexpr int64_t kEpilogueWarps = 4;

/// Accumulation steps of a reduction.
struct ReductionSteps {
  int64_t products; ///< added by one instruction
  int64_t count;    ///< instructions; each rounds the accumulator

  ReductionSteps(const target::MmaForm &mma, int64_t extent);
};

/// Work tiles are answers of cluster launch control, 16 bytes each (PTX ISA,
/// clusterlaunchcontrol.try_cancel), or expert work tiles. Two slots let loads
/// proceed to the next work tile during the epilogue.
inline constexpr int64_t kWorkTileSlots = 2, kClcAnswerBytes = 16,
                         kExpertWorkTileBytes = 32;

/// Columns of a quantized result whose scales form a word per row.
inline constexpr int64_t kQuantizedColumns =
    kScaleTileBlocks * kPowerOfTwoBlockSize;

/// Bytes of a row that a warp stages for a bulk copy: the widest swizzle.
inline constexpr int64_t kStagedRowBytes = 128;
/// Returns the columns of such a row for elements of `bits`.
int64_t getStagedColumns(int64_t tileN, int64_t bits);

/// Computes the memory and threads of a schedule with known stages.
ScheduleBudget getBudget(const MatmulProblem &problem,
                         const ScheduleFields &fields,
                         const target::TargetInfo &target);

/// Returns the shared memory available to a CTA, in bytes.
int64_t getSharedBytes(const ScheduleFields &fields,
                       const target::TargetInfo &target);

/// Returns the maximum number of stages that fit in shared memory, or 0.
int64_t getMaxStages(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target);

/// A violated rule. `table` lists the buffers if the memory is too small.
struct ScheduleError {
  std::string message;
  llvm::SmallVector<std::string> table = {};
};

/// Creates an error from a formatv string.
template <typename... Values>
ScheduleError refuse(const char *form, Values &&...values) {
  return {llvm::formatv(form, std::forward<Values>(values)...)};
}

/// Sets an unset strategy to the first of `problem`.
void resolveStrategy(const MatmulProblem &problem, ScheduleFields &fields);

/// Returns the first violated rule other than a memory limit. Requires a
/// resolved strategy. Rings must not be computed for a schedule that fails.
std::optional<ScheduleError> checkRules(const MatmulProblem &problem,
                                        const ScheduleFields &fields,
                                        const target::TargetInfo &target);

/// Checks the rules and the memory limits. Unset stages count as one.
std::optional<ScheduleError> checkSchedule(const MatmulProblem &problem,
                                           const ScheduleFields &fields,
                                           const target::TargetInfo &target);

/// Sets the unset fields: strategy, stages and, for accumulators in registers,
/// the registers of each role.
void completeSchedule(const MatmulProblem &problem, ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Returns the reason why bulk copies cannot write the result, which turns
/// epilogue = tma_store into direct. Empty if no known size rules them out.
std::string explainDirectStores(const MatmulProblem &problem);

/// Returns `fields` with direct stores.
ScheduleFields withDirectStores(ScheduleFields fields);

/// Returns true if static types guarantee that bulk copies can write the
/// result.
bool canStoreByTma(const MatmulProblem &problem);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
