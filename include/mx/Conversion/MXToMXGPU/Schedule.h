//===- Schedule.h - What a schedule needs, and when it is legal -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The one place that adds up the memories of a schedule for given operands and
// says which rule forbids it. The kernel builder refuses by it, the choice of
// schedules filters by it and --mx-explain draws it; mxgpu-allocate arrives at
// the same numbers from the finished kernel, which a test compares.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
#define MX_CONVERSION_MXTOMXGPU_SCHEDULE_H

#include "mx/Dialect/MXGPU/IR/MXGPU.h"
#include "mx/Support/ScaleLayout.h"
#include "mx/Target/OperandForms.h"

namespace mx::mxgpu {

/// What a schedule depends on of a product.
struct MatmulProblem {
  target::ProductForm product{};
  int64_t outBits = 32;
  bool accumulate = false;
  /// Whether an epilogue region computes the elements of the result.
  bool hasEpilogue = false;
  /// Sums that it is given of as many columns of B, and whether what it makes
  /// of them is quantized.
  int64_t parts = 1;
  bool isQuantized = false;
  /// Whether rows are added to others of the result.
  bool isScattered = false;
  /// What groups divide.
  RaggedKind ragged = RaggedKind::None;
  /// Elements, or ShapedType::kDynamic; of all groups together. The columns
  /// are those of all parts.
  int64_t m = mlir::ShapedType::kDynamic;
  int64_t n = mlir::ShapedType::kDynamic;
  int64_t k = mlir::ShapedType::kDynamic;
  int64_t groups = 1;

  /// Bits that an element takes in shared memory: TMA unpacks the formats of
  /// mxf8f6f4 to bytes (PTX ISA, tensor maps of packed types).
  int64_t getSmemBits() const {
    return product.kind == target::MmaKind::MXF8F6F4 ? 8 : 4;
  }
  /// Whether a warp of its own tells the others of their units of work, by so
  /// many bytes each.
  int64_t getUnitBytes(const ScheduleParts &parts) const;
  /// Elements of the reduction that one 512-byte tile of scales covers.
  int64_t getScaleTileK() const;
};

/// The problem of `op`, or none if no block-scaled instruction multiplies its
/// operands.
std::optional<MatmulProblem> getMatmulProblem(ProductOpInterface op);

/// One entry of a memory: `count` things of `size` bytes or columns.
struct BudgetItem {
  llvm::StringLiteral name;
  int64_t count, size;
  int64_t offset = 0;
  /// What neighbours of the things share (overlapped accumulators).
  int64_t shared = 0;
  /// Whether these are the slots of a ring behind the first.
  bool isRest = false;

  int64_t getTotal() const { return count * size - (count - 1) * shared; }
  /// "in.a", "4 more slots of in", "2 stages of acc.d".
  std::string describe() const;
};

/// The memories of a CTA, in the order of allocation.
struct ScheduleBudget {
  llvm::SmallVector<BudgetItem, 12> smem, tmem;
  /// Bytes, and columns before and after rounding to an allocation (0 if they
  /// do not fit).
  int64_t smemBytes = 0, tmemColumns = 0, tmemAllocated = 0;
  int64_t threads = 0;
};

/// Warps of the epilogue, of which each reads a quarter of tensor memory.
inline constexpr int64_t kEpilogueWarps = 4;

/// Answers of cluster launch control, of 16 bytes (PTX ISA,
/// clusterlaunchcontrol.try_cancel), or units of groups. Two, so that the loads
/// can go on to the next unit while the epilogue of the last one runs.
inline constexpr int64_t kUnitSlots = 2, kUnitBytes = 16, kGroupUnitBytes = 32;

/// Elements of a quantized result that share a scale, and columns of which a
/// row's scales are a word.
inline constexpr int64_t kQuantizedBlock = 32;
inline constexpr int64_t kQuantizedColumns = kScaleTileBlocks * kQuantizedBlock;

/// What a warp stages at a time for a bulk copy: a row for each lane, of at
/// most the widest swizzle's length.
inline constexpr int64_t kStagedRows = 32, kStagedRowBytes = 128;
/// Columns of that, of elements of `bits`.
int64_t getStagedColumns(int64_t tileN, int64_t bits);

/// Adds up a schedule whose stages are chosen.
ScheduleBudget getBudget(const MatmulProblem &problem,
                         const ScheduleParts &parts,
                         const target::TargetInfo &target);

/// The most stages that fit into shared memory, or 0.
int64_t getMaxStages(const MatmulProblem &problem, const ScheduleParts &parts,
                     const target::TargetInfo &target);

/// A rule that a schedule breaks, with the table of the memory if that is the
/// rule.
struct ScheduleError {
  std::string message;
  llvm::SmallVector<std::string> table;
};

/// The first rule that `parts` breaks for `problem`. Open stages count as one.
std::optional<ScheduleError> checkSchedule(const MatmulProblem &problem,
                                           const ScheduleParts &parts,
                                           const target::TargetInfo &target);

/// Fills in what is open: the stages.
void completeSchedule(const MatmulProblem &problem, ScheduleParts &parts,
                      const target::TargetInfo &target);

/// Why bulk copies cannot write the result, so that epilogue = tma_store falls
/// back to direct; empty if they can, as far as is known.
std::string explainDirectStores(const MatmulProblem &problem);

/// `parts` with direct stores.
ScheduleParts withDirectStores(ScheduleParts parts);

/// Whether bulk copies can surely write the rows of the result.
bool canStoreByTma(const MatmulProblem &problem);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULE_H
