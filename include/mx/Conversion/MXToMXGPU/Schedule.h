//===- Schedule.h - Buffers and rules of schedules ------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Defines the contents of each ring stage of a matmul kernel and the rules that
// reject a schedule. Kernel construction, schedule selection, mxgpu-lower-rings
// and --mx-explain all use these definitions.
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
#define MX_CONVERSION_MXTOMXGPU_SCHEDULE_H

#include "mx/Dialect/MX/IR/MX.h"
#include "mx/Dialect/MXGPU/IR/MemoryLayout.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/OperandForms.h"
#include "llvm/Support/FormatVariadic.h"

namespace mx::mxgpu {

/// MMA operand types. `blockSize` and `scaleFormat` are unused for bf16 x bf16.
struct OperandTypes {
  target::MmaType a, b;
  unsigned blockSize;
  /// None if no MMA instruction supports the scale format.
  std::optional<FloatFormat> scaleFormat;

  bool hasScalesOfA() const { return a != target::MmaType::BF16; }
  bool hasScalesOfB() const { return b != target::MmaType::BF16; }
};

/// Defined in lib/Conversion/MXToMXGPU/Matmul/Strategies/Strategy.h.
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
  /// Block sizes, which may be BlockFormat::kWhole.
  int64_t aBlockSize = 0, bBlockSize = 0;
  int64_t bBlockRows = 1; ///< rows of B that share a scale
  int64_t promote = 0;    ///< elements added in reduced precision, or 0
  bool inOrder = false;   ///< a result is one sum in ascending order of k
  /// True if an epilogue region computes the result.
  bool hasEpilogue = false;
  /// Number of B matrices, each with an accumulator for the epilogue, and
  /// whether the epilogue's result is quantized.
  int64_t numB = 1;
  bool isQuantized = false;
  /// Operand orders (or null), and whether B is in #mxgpu.fragment_64x64.
  OperandOrderAttrInterface aOrder, bOrder;
  bool isPackedB = false;
  /// Workspace operand with a reduction dimension that may be permuted, if MMA
  /// threads dequantize the other operand.
  Workspace canPermute = Workspace::None;
  /// True if the function quantizes an operand, with new scales in each call.
  bool isQuantizedHere = false;
  /// Common divisor of the bounds of the computed columns, 0 for all columns.
  int64_t columnDivisor = 0;
  /// Class of the computed elements, or none for all.
  std::optional<RowClass> where = std::nullopt;
  /// True if a list selects the result row to which each row is added.
  bool isScattered = false;
  /// Dimension that is divided into expert groups. If `isMasked`, each expert
  /// group owns a matrix, and the model assumes full matrices.
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
  /// Returns the reduction elements covered by one 512-byte tile of A's scales.
  int64_t getScaleTileK() const;
  /// Returns true if sums are promoted with scales of blocks of each row of
  /// both operands.
  bool promotesBlocks() const;
  /// Returns true if sums are promoted with f32 scales, which need no
  /// conversion.
  bool promotesExactly() const;
  /// Bytes of a scale, 1 without scales.
  int64_t getScaleBytes() const;
};

/// Returns the problem of `op` after the operands in `workspace` are
/// dequantized, or none if `target` does not support its operands.
std::optional<MatmulProblem>
getMatmulProblem(MatmulOpInterface op, const target::TargetInfo &target,
                 Workspace workspace = Workspace::None);

/// Sets the strategies of `problem` that support `types`, the operand orders
/// and `promote` on `target`. Returns false if there are none.
bool matchStrategies(MatmulProblem &problem, const OperandTypes &types,
                     const target::TargetInfo &target);

/// Returns the element type of workspace operands: bf16, or f8E4M3FN for
/// expanded operands (`promote`).
mlir::Type getWorkspaceType(MatmulOpInterface op);
bool holdsA(Workspace workspace);
bool holdsB(Workspace workspace);

/// Returns the reason why the `workspace` operands cannot be dequantized first,
/// or the `permuted` operands (possibly bf16) cannot be permuted. Returns an
/// empty string if there is no such reason.
std::string explainNoWorkspace(MatmulOpInterface op, Workspace workspace,
                               Workspace permuted,
                               const target::TargetInfo &target);

/// Returns the operand that the strategy of `fields` permutes, if any.
Workspace getPermuted(const ScheduleFields &fields);

/// Returns the reason why the reduction of a bf16 operand cannot be permuted,
/// or an empty string.
std::string explainNotPermuted(const MatmulProblem &problem,
                               Workspace permuted);

/// Buffers, MMA and warps of a kernel. Unused rings are null.
struct MatmulBuffers {
  /// Rings from loads to MMAs or converters, with fields "a", "sfa" (if A has
  /// scales), "b" and "sfb". Kernels that dequantize operands load B into
  /// `bInputs` instead.
  RingType inputs, bInputs;
  /// Scales that apply to a whole work tile: fields "sfb", and "sfa" if rows of
  /// A have a single scale. If sums are promoted with scales of blocks of both
  /// operands, the scales "sfa" and "sfb" of an interval, and their values in
  /// f32, "fa" and "fb".
  RingType tileScales, factors;
  RingType getBInputs() const;
  /// Ring of dequantized or expanded B for the tensor core, with field "b".
  RingType operands;
  /// Ring from the tensor core to the epilogue, with field "d".
  RingType accumulators;
  /// Ring of rows for bulk stores (field "c"), and ring of work tiles that are
  /// broadcast to all warps (field "work_tile").
  RingType staging, workTiles;
  /// Scales in tensor memory and their number of buffers.
  ScalesType aScales, bScales;
  int64_t scaleStages = 1;
  MmaAttrInterface mma;
  /// MMAs that cover the columns of a work tile.
  int64_t slices = 1;
  /// Accumulator fragment of the epilogue threads.
  FragmentLayoutAttr accumulatorLayout;
  /// Bytes of a partial accumulator sent to another CTA of the cluster, or 0.
  int64_t partialBytes = 0;
  /// Epilogue warps, and warps of other roles except the `workTiles` producer.
  int64_t epilogueWarps = 0, otherWarps = 0;
};

/// Returns the buffers of a schedule with a known number of stages. Results
/// that bulk stores cannot write are not staged.
MatmulBuffers getBuffers(const MatmulProblem &problem,
                         const ScheduleFields &fields);

/// Shared and tensor memory of a CTA.
struct ScheduleBudget : MemoryLayout {
  ScheduleBudget(const MatmulBuffers &buffers,
                 const target::TargetInfo &target);

  MatmulBuffers buffers;
  /// Columns of the tensor memory allocation, or 0 if they do not fit.
  int64_t tmemAllocated;
  int64_t threads;
};

/// Warps of an epilogue that reads tensor memory. Each warp can access a
/// quarter of the tensor memory lanes.
inline constexpr int64_t kEpilogueWarps = 4;

struct ReductionSteps {
  int64_t products; ///< added by one instruction
  int64_t count;    ///< instructions; each rounds the accumulator

  ReductionSteps(const target::MmaForm &mma, int64_t extent);
};

/// A work tile is stored as a 16-byte response of cluster launch control (PTX
/// ISA, clusterlaunchcontrol.try_cancel) or as an expert work tile. Two slots
/// let loads proceed to the next work tile during the epilogue.
inline constexpr int64_t kWorkTileSlots = 2, kClcAnswerBytes = 16,
                         kExpertWorkTileBytes = 32;

/// Number of columns of a quantized result whose scales fill one word per row.
inline constexpr int64_t kQuantizedColumns =
    kScaleTileBlocks * kPowerOfTwoBlockSize;

/// Bytes of a row staged for a bulk copy (the width of the widest swizzle).
inline constexpr int64_t kStagedRowBytes = 128;
/// Returns the number of `bits`-wide elements in a staged row.
int64_t getStagedColumns(int64_t tileN, int64_t bits);

/// Computes memory and threads of a schedule with a known number of stages.
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

/// Sets an unset strategy to the default strategy of `problem`.
void resolveStrategy(const MatmulProblem &problem, ScheduleFields &fields);

/// Returns the first violated rule other than a memory limit. Requires a
/// resolved strategy. The rings of an illegal schedule must not be computed.
std::optional<ScheduleError> checkRules(const MatmulProblem &problem,
                                        const ScheduleFields &fields,
                                        const target::TargetInfo &target);

/// Checks the rules and the memory limits, with one stage if stages are unset.
std::optional<ScheduleError> checkSchedule(const MatmulProblem &problem,
                                           const ScheduleFields &fields,
                                           const target::TargetInfo &target);

/// Sets the unset fields: strategy, stages and, for accumulators in registers,
/// the registers of each role.
void completeSchedule(const MatmulProblem &problem, ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Returns the reason why bulk copies cannot write the result (tma_store then
/// becomes direct), or an empty string if no known size prevents bulk copies.
std::string explainDirectStores(const MatmulProblem &problem);

ScheduleFields withDirectStores(ScheduleFields fields);

/// Returns true if static types prove that bulk copies can write the result.
bool canStoreByTma(const MatmulProblem &problem);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
