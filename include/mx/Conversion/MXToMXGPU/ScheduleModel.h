//===- ScheduleModel.h - Analytic cost model of schedules ----- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Models a matmul kernel with the hardware rates of Rates.h, in whole cycles,
// so that a choice is the same on every host. docs/design/ScheduleModel.md
// explains the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H
#define MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/Rates.h"
#include <vector>

namespace mx::mxgpu {

/// Assumed value of unknown sizes. Large, so that a kernel for all shapes is
/// efficient for large shapes.
inline constexpr int64_t kAssumedSize = 8192;

/// A problem of known or assumed sizes, in tiles of a schedule.
struct Grid {
  /// Extents of one matmul, and the number of matmuls. A ragged reduction is a
  /// matmul per expert group, with `k` elements and its own result.
  int64_t m, n, k, matmuls;
  /// Row tiles of all matmuls, and column tiles of one matmul.
  int64_t rowTiles, columnTiles;
  /// CTAs, or CTA pairs, that run concurrently.
  int64_t workers;
  /// Bytes in memory, with scales: A of all matmuls, and B of one.
  int64_t aBytes, bBytes;
};

/// Returns `size`, or kAssumedSize if dynamic.
int64_t orAssumed(int64_t size);

/// Assumed distribution of rows over expert groups: equal probabilities, or 1/i
/// for the i-th most frequent group (Zipf's law).
enum class Division { Even, Uneven };

Grid getGrid(const MatmulProblem &problem, const ScheduleFields &fields,
             const target::TargetInfo &target,
             Division division = Division::Even);

/// Returns the bytes of A and B loaded from HBM if `cache` bytes of L2 retain
/// operands between uses.
int64_t getLoadTraffic(const Grid &grid, const ScheduleFields &fields,
                       int64_t cache);

/// Returns the cycles of shared-memory reads by the MMAs of a step, without
/// contention.
int64_t getMmaPortCycles(const ScheduleFields &fields,
                         const MatmulBuffers &buffers,
                         const target::Rates &rates);

/// Returns the rates of `target`. Requires `target.hasMma()`.
const target::Rates &getRates(const target::TargetInfo &target);

/// Modelled cost of a schedule, in cycles of the SM clock.
struct ModelledCost {
  // One work tile in one CTA (or pair): each pipe in isolation.
  int64_t mma = 0;      ///< MMAs
  int64_t port = 0;     ///< shared-memory reads of the MMAs
  int64_t fill = 0;     ///< bytes into shared memory
  int64_t ring = 0;     ///< load latency over the stages
  int64_t steps = 0;    ///< waits and scale copies between MMAs
  int64_t epilogue = 0; ///< epilogue throughput
  int64_t exposed = 0;  ///< part of the epilogue that delays the next tile
  // Whole problem.
  int64_t workTiles = 0, waves = 0;
  int64_t kSteps = 0; ///< stages filled, in all work tiles
  int64_t period = 0; ///< time between successive work tiles
  /// Part of the period between the loops of successive clusters: ends and sum.
  int64_t restart = 0;
  int64_t l2 = 0, hbm = 0;
  int64_t ends = 0;       ///< set-up, first load and last epilogue
  int64_t sum = 0;        ///< reduction kernel of a split reduction
  int64_t dequantize = 0; ///< kernels that dequantize operands first
  int64_t total = 0;

  /// Returns the total without ends, sum and dequantize.
  int64_t getLoop() const { return total - ends - sum - dequantize; }
  /// Returns the bound of the loop: "MMAs", "shared memory", "fill", "ring",
  /// "epilogue", "L2", "HBM", or "latency" if cluster restarts dominate.
  llvm::StringRef getPipe() const;
  /// Returns the bound, or "latency" if the ends exceed the loop.
  llvm::StringRef getLimit() const {
    return ends + sum + dequantize > getLoop() ? "latency" : getPipe();
  }
};

/// Models a schedule. With expert groups the result is the mean over both
/// distributions of rows.
ModelledCost getModelledCost(const MatmulProblem &problem,
                             const ScheduleFields &fields,
                             const target::TargetInfo &target);

/// Returns the cycles of the MMAs alone at the peak rate of the chip.
int64_t getIdealCycles(const MatmulProblem &problem,
                       const target::TargetInfo &target);

struct Candidate {
  const Strategy *strategy = nullptr;
  ScheduleFields fields;
  ModelledCost cost;
};

/// Maximum stages of a schedule; 0 if one stage does not fit. Shared by all
/// problems that differ only in sizes, because buffers do not depend on sizes.
using StageMemo = llvm::DenseMap<ScheduleAttr, int64_t>;

/// Returns the candidate schedules for `problem`, best first. Among those
/// within the model's resolution of the fastest, the schedule with the smallest
/// `kSteps` comes first. `memo` may be shared between sizes of a matmul.
std::vector<Candidate> rankSchedules(const MatmulProblem &problem,
                                     const target::TargetInfo &target,
                                     StageMemo *memo = nullptr);

/// Returns the first reason why no schedule is legal, or an empty string if one
/// is.
std::string explainNoSchedule(const MatmulProblem &problem,
                              const target::TargetInfo &target);

/// Ranks schedules of `op` with and without workspaces. `whole` is the problem
/// of `op`, possibly with assumed sizes. `memos` are indexed by workspace, or
/// empty.
std::vector<Candidate>
rankWithWorkspaces(MatmulOpInterface op, const MatmulProblem &whole,
                   const target::TargetInfo &target,
                   llvm::MutableArrayRef<StageMemo> memos = {});

/// A matmul after its workspace operands are dequantized.
struct Remainder {
  MatmulProblem problem;
  /// Cycles of the kernels that dequantize operands, or the extra writes of
  /// quantizers that produce bf16 directly. Quantizers do not write permuted
  /// operands.
  int64_t before = 0, beforePermuted = 0;

  /// Returns the cost with the dequantizing kernels.
  ModelledCost getCost(const ScheduleFields &fields,
                       const target::TargetInfo &target) const;
  void addBefore(ModelledCost &cost, const ScheduleFields &fields) const;
};

/// Returns the remainder of `op` with the sizes of `sized`, or none if `target`
/// does not support its operands.
std::optional<Remainder> getRemainder(MatmulOpInterface op,
                                      const MatmulProblem &sized,
                                      Workspace workspace,
                                      const target::TargetInfo &target);

/// Sizes that may be dynamic.
enum class SizeName { M, N, K, Groups };
inline constexpr SizeName kSizeNames[] = {SizeName::M, SizeName::N, SizeName::K,
                                          SizeName::Groups};
llvm::StringRef stringifySizeName(SizeName name);
/// Returns a reference to the named size of `problem`.
int64_t &getSizeOf(MatmulProblem &problem, SizeName name);
/// Returns the dynamic sizes of `problem`.
llvm::SmallVector<SizeName, 4> getUnknown(MatmulProblem problem);

/// Upper limits by SizeName; ShapedType::kDynamic for no limit.
using SizeLimits = std::array<int64_t, 4>;
/// Returns true if the sizes of `problem` are within `limits`.
bool fitsLimits(MatmulProblem problem, const SizeLimits &limits);

/// A schedule for the sizes within `limits` that no earlier case covers.
struct ScheduleCase {
  SizeLimits limits;
  ScheduleAttr schedule;
  /// Number of sizes compared, and the mean and worst modelled loss against the
  /// best schedule at each size, in thousandths.
  int64_t sizes = 0, meanLoss = 0, worstLoss = 0;
  /// The problem at a representative size.
  MatmulProblem example;
};

/// Returns true if schedules are selected by sizes at run time: rows and groups
/// if the weights are static, or the reduction in a weight gradient. Other
/// unknown sizes are assumed, because no small set of schedules suits them all.
bool hasCases(const MatmulProblem &problem);

/// Returns true if the schedule is legal for all dynamic sizes of `op`. Bulk
/// stores require rows of static length. `typed` is the problem of the types.
bool isLegalForAllSizes(MatmulOpInterface op, const MatmulProblem &typed,
                        const ScheduleFields &fields,
                        const target::TargetInfo &target);

/// Selects up to `most` schedules for `op` that are close to the best schedule
/// at many sizes (docs/design/ScheduleModel.md). Requires hasCases(). Empty if
/// no schedule is legal.
std::vector<ScheduleCase> selectCases(MatmulOpInterface op,
                                      const MatmulProblem &problem,
                                      int64_t most,
                                      const target::TargetInfo &target);

/// Returns the best candidate of rankSchedules(), if any.
std::optional<Candidate> selectSchedule(const MatmulProblem &problem,
                                        const target::TargetInfo &target);

/// Source of a schedule: the model at known sizes, the model for a range of
/// sizes, an attribute written by a person, or a measurement.
enum class ScheduleOrigin { Model, Range, Person, Tuned };

/// Prints the schedule of `op`, the candidates with their modelled terms, the
/// bottleneck of the second one and the memory map (--mx-explain). `tuned` is
/// the source of a measured schedule.
void explainSchedule(llvm::raw_ostream &os, MatmulOpInterface op,
                     const MatmulProblem &problem, ScheduleAttr schedule,
                     ScheduleOrigin origin,
                     llvm::ArrayRef<Candidate> candidates,
                     const target::TargetInfo &target,
                     llvm::StringRef tuned = {});

/// Prints the ranges of dynamic sizes and each schedule at its example.
void explainCases(llvm::raw_ostream &os, MatmulOpInterface op,
                  const MatmulProblem &problem,
                  llvm::ArrayRef<ScheduleCase> cases,
                  const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H
