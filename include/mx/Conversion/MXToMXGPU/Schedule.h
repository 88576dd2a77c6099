//===- Schedule.h - What a schedule needs, and when it is legal -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that says what a stage of each ring of a matmul holds, and
// which rule forbids a schedule for given operands. Kernels are built from
// these rings. The choice of schedules filters by their layout, which is the
// same that mxgpu-lower-rings places for the finished kernel and that
// --mx-explain draws.
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

/// What the tensor core is to multiply. Blocks and scales say nothing where
/// both types are bf16.
struct OperandTypes {
  target::MmaType a, b;
  unsigned blockSize;
  /// None for scales that no matrix instruction takes.
  std::optional<FloatFormat> scaleFormat;

  bool hasScalesOfA() const { return a != target::MmaType::BF16; }
  bool hasScalesOfB() const { return b != target::MmaType::BF16; }
};

/// How an instruction computes matmuls
/// (lib/Conversion/MXToMXGPU/Matmul/Strategies/Strategy.h).
class Strategy;

/// The properties of a matmul that a schedule depends on.
struct MatmulProblem {
  /// The strategies that compute it, at least one. Schedules that name none
  /// take the first, whose instruction `mma` is of.
  llvm::SmallVector<const Strategy *, 2> strategies;
  target::MmaForm mma{};
  /// Elements of the operands, of their scales (null without) and of the
  /// result.
  mlir::Type a, b, scales, out;
  bool accumulate = false;
  /// Whether an epilogue region computes the elements of the result.
  bool hasEpilogue = false;
  /// The number of accumulators that it gets, one for each matrix of B, and
  /// whether its result is quantized.
  int64_t numB = 1;
  bool isQuantized = false;
  /// The orders of the operands, or null, and whether B is in
  /// #mxgpu.fragment_64x64.
  OperandOrderAttrInterface aOrder, bOrder;
  bool isPackedB = false;
  /// The operand that is written before and whose reduction may be permuted,
  /// the other being dequantized by threads that multiply.
  Workspace canPermute = Workspace::None;
  /// Whether a quantizer of the same function makes an operand, so that its
  /// scales are other ones in each call.
  bool isQuantizedHere = false;
  /// Whether rows are added to indexed rows of the result.
  bool isScattered = false;
  /// The dimension that expert groups divide, and whether each has a matrix of
  /// rows, which is modelled as full.
  RaggedKind ragged = RaggedKind::None;
  bool isMasked = false;
  /// Elements, or ShapedType::kDynamic, of all expert groups together. The
  /// columns are those of all B matrices.
  int64_t m = mlir::ShapedType::kDynamic;
  int64_t n = mlir::ShapedType::kDynamic;
  int64_t k = mlir::ShapedType::kDynamic;
  int64_t groups = 1; ///< expert groups, or matrices of a batch

  /// Whether A is elements with scales, or B, or either. Without them an
  /// operand is bf16, which the tensor core multiplies by the other,
  /// dequantized.
  bool hasScalesOfA() const { return !llvm::isa<mlir::BFloat16Type>(a); }
  bool hasScalesOfB() const { return !llvm::isa<mlir::BFloat16Type>(b); }
  bool hasScales() const;
  int64_t getOutBits() const;
  /// Elements of the reduction that one 512-byte tile of scales covers.
  int64_t getScaleTileK() const;
  /// Bytes of a scale, 1 without scales.
  int64_t getScaleBytes() const;
};

/// The problem of `op`, or none if `target` does not multiply its operands:
/// what remains of it where some are dequantized to memory before.
std::optional<MatmulProblem>
getMatmulProblem(MatmulOpInterface op, const target::TargetInfo &target,
                 Workspace workspace = Workspace::None);

/// Sets the strategies of `problem` that multiply such operands, in the orders
/// of `problem`, on a chip; false if there are none.
bool matchStrategies(MatmulProblem &problem, const OperandTypes &types,
                     const target::TargetInfo &target);

/// Whether a workspace holds an operand.
bool holdsA(Workspace workspace);
bool holdsB(Workspace workspace);

/// Why operands of `op` cannot be dequantized to memory before, or `permuted`
/// be permuted, which may be bf16 then; empty if they can.
std::string explainNoWorkspace(MatmulOpInterface op, Workspace workspace,
                               Workspace permuted,
                               const target::TargetInfo &target);

/// The operand that the strategy of `fields`, if there is one, has permuted.
Workspace getPermuted(const ScheduleFields &fields);

/// Why the reduction of an operand of bf16, A or B, cannot be permuted; empty
/// if it can.
std::string explainNotPermuted(const MatmulProblem &problem,
                               Workspace permuted);

/// The rings and scales of a kernel: what a stage of each holds, how many there
/// are, and who fills and empties them. Null where there are none.
struct MatmulBuffers {
  /// From the loads on, fields "a", "sfa", "b" and "sfb". Where operands are
  /// dequantized in the kernel, those of B have a ring of their own. An A
  /// without scales has no "sfa".
  RingType inputs, bInputs;
  RingType getBInputs() const;
  /// From the threads that dequantize B to the tensor core, field "b".
  RingType operands;
  /// From the tensor core to the epilogue, field "d".
  RingType accumulators;
  /// Rows on their way to bulk stores, field "c", and work tiles that a warp
  /// tells the others of, field "work_tile".
  RingType staging, workTiles;
  /// Scales in tensor memory, and how many buffers of them.
  ScalesType aScales, bScales;
  int64_t scaleStages = 1;
  /// What multiplies the inputs of a stage.
  MmaAttrInterface mma;
  /// How the threads that store the result hold the accumulator of a tile.
  FragmentLayoutAttr accumulatorLayout;
  /// Bytes of a partial of it that goes to another CTA of a cluster, or 0.
  int64_t partialBytes = 0;
  /// Their warps, and those of all other roles but the one for `workTiles`.
  int64_t epilogueWarps = 0, otherWarps = 0;
};

/// Of a schedule whose stages are chosen. Results that bulk stores cannot write
/// are not staged.
MatmulBuffers getBuffers(const MatmulProblem &problem,
                         const ScheduleFields &fields);

/// The memories of a CTA.
struct ScheduleBudget : MemoryLayout {
  ScheduleBudget(const MatmulBuffers &buffers,
                 const target::TargetInfo &target);

  MatmulBuffers buffers;
  /// Columns rounded to an allocation (0 if they do not fit).
  int64_t tmemAllocated;
  int64_t threads;
};

/// Warps of an epilogue that reads tensor memory, each a quarter of it.
inline constexpr int64_t kEpilogueWarps = 4;

/// How the products of a reduction are added.
struct ReductionSteps {
  int64_t products; ///< that an instruction adds
  int64_t count;    ///< instructions, each of which rounds the sum

  ReductionSteps(const target::MmaForm &mma, int64_t extent);
};

/// Answers of cluster launch control, of 16 bytes (PTX ISA,
/// clusterlaunchcontrol.try_cancel), or work tiles of experts. There are two,
/// so that the loads can go on to the next work tile while the epilogue of the
/// last one runs.
inline constexpr int64_t kWorkTileSlots = 2, kClcAnswerBytes = 16,
                         kExpertWorkTileBytes = 32;

/// Elements of a quantized result that share a scale, and columns of which a
/// row's scales are a word.
inline constexpr int64_t kQuantizedColumns =
    kScaleTileBlocks * kPowerOfTwoBlockSize;

/// What a warp stages at a time for a bulk copy: its rows of the tile, of at
/// most the widest swizzle's length.
inline constexpr int64_t kStagedRowBytes = 128;
/// Columns of that, of elements of `bits`.
int64_t getStagedColumns(int64_t tileN, int64_t bits);

/// Adds up a schedule whose stages are chosen.
ScheduleBudget getBudget(const MatmulProblem &problem,
                         const ScheduleFields &fields,
                         const target::TargetInfo &target);

/// Bytes of shared memory that a CTA may have.
int64_t getSharedBytes(const ScheduleFields &fields,
                       const target::TargetInfo &target);

/// The most stages that fit into shared memory, or 0.
int64_t getMaxStages(const MatmulProblem &problem, const ScheduleFields &fields,
                     const target::TargetInfo &target);

/// A rule that a schedule breaks, with the table of the memory if that is the
/// rule.
struct ScheduleError {
  std::string message;
  llvm::SmallVector<std::string> table = {};
};

/// The error of a broken rule, in the form of llvm::formatv.
template <typename... Values>
ScheduleError refuse(const char *form, Values &&...values) {
  return {llvm::formatv(form, std::forward<Values>(values)...)};
}

/// The strategy of a schedule that leaves it open: the first of `problem`.
void resolveStrategy(const MatmulProblem &problem, ScheduleFields &fields);

/// The first rule that `fields`, whose strategy is chosen, breaks for `problem`
/// whatever memory it takes: what breaks one may have no rings.
std::optional<ScheduleError> checkRules(const MatmulProblem &problem,
                                        const ScheduleFields &fields,
                                        const target::TargetInfo &target);

/// The same with what fits into memory. Open stages count as one.
std::optional<ScheduleError> checkSchedule(const MatmulProblem &problem,
                                           const ScheduleFields &fields,
                                           const target::TargetInfo &target);

/// Fills in what is not given: the strategy, the number of stages, and where
/// accumulators are in registers those of each role.
void completeSchedule(const MatmulProblem &problem, ScheduleFields &fields,
                      const target::TargetInfo &target);

/// Why bulk copies cannot write the result, so that epilogue = tma_store falls
/// back to direct; empty if they can, as far as is known.
std::string explainDirectStores(const MatmulProblem &problem);

/// `fields` with direct stores.
ScheduleFields withDirectStores(ScheduleFields fields);

/// Whether bulk copies can certainly write the rows of the result.
bool canStoreByTma(const MatmulProblem &problem);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
