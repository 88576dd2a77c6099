//===- ScheduleModel.h - Analytic cost model of schedules ----- -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Models a matmul kernel with the hardware rates of Rates.h. Costs are whole
// cycles, so every host selects the same schedule. The formulas are explained
// in docs/design/ScheduleModel.md.
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H
#define MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/Rates.h"
#include <vector>

namespace mx::mxgpu {

/// Assumed value of unknown sizes, large so that kernels suit large shapes.
inline constexpr int64_t kAssumedSize = 8192;

/// Division of a problem with known or assumed sizes into tiles of a schedule.
struct Grid {
  /// Extents of one matmul, and the number of matmuls. A ragged reduction is
  /// a matmul per expert group, each with `k` elements and its own result.
  int64_t m, n, k, matmuls;
  /// Row tiles of all matmuls, and column tiles of one matmul.
  int64_t rowTiles, columnTiles;
  /// Number of concurrent CTAs or CTA pairs.
  int64_t workers;
  /// Bytes of A for all matmuls and of B for one matmul, including scales.
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

/// Returns the cycles in which the MMAs of a K step read shared memory, without
/// contention.
int64_t getMmaPortCycles(const ScheduleFields &fields,
                         const MatmulBuffers &buffers,
                         const target::Rates &rates);

/// Returns the rates of `target`. Requires `target.hasMma()`.
const target::Rates &getRates(const target::TargetInfo &target);

/// Modelled cost of a schedule, in cycles of the SM clock.
struct ModelledCost {
  // Cycles of each pipe in isolation, for one work tile in one CTA or CTA pair.
  int64_t mma = 0;      ///< MMAs
  int64_t port = 0;     ///< shared-memory reads of the MMAs
  int64_t fill = 0;     ///< bytes into shared memory
  int64_t ring = 0;     ///< load latency divided by the number of stages
  int64_t steps = 0;    ///< waits and scale copies between MMAs
  int64_t epilogue = 0; ///< epilogue throughput
  int64_t exposed = 0;  ///< part of the epilogue that delays the next tile
  // Counts and cycles for the whole problem.
  int64_t workTiles = 0, waves = 0;
  int64_t kSteps = 0; ///< stages filled, in all work tiles
  int64_t period = 0; ///< time between successive work tiles
  /// Time between the loops of successive clusters, a part of the period:
  /// `ends + sum`.
  int64_t restart = 0;
  int64_t l2 = 0, hbm = 0;
  int64_t ends = 0;       ///< set-up, first load and last epilogue
  int64_t sum = 0;        ///< reduction kernel of a split reduction
  int64_t dequantize = 0; ///< dequantizing kernels
  int64_t total = 0;

  int64_t getLoop() const { return total - ends - sum - dequantize; }
  /// Returns the bound of the loop: "MMAs", "shared memory", "fill", "ring",
  /// "epilogue", "L2", "HBM", or "latency" if cluster restarts dominate.
  llvm::StringRef getPipe() const;
  /// Returns getPipe(), or "latency" if all else takes longer than the loop.
  llvm::StringRef getLimit() const {
    return ends + sum + dequantize > getLoop() ? "latency" : getPipe();
  }
};

/// Models a schedule. With expert groups, the result is the mean of the costs
/// for `Division::Even` and `Division::Uneven`.
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

/// Maximum stages of each schedule, or 0 if no stage fits. Problems that differ
/// only in sizes can share a memo, because buffers do not depend on sizes.
using StageMemo = llvm::DenseMap<ScheduleAttr, int64_t>;

/// Returns the candidate schedules, best first. The first schedule has the
/// smallest `kSteps` among all within the model's resolution of the fastest.
std::vector<Candidate> rankSchedules(const MatmulProblem &problem,
                                     const target::TargetInfo &target,
                                     StageMemo *memo = nullptr);

/// Returns the first reason why no schedule is legal, or an empty string.
std::string explainNoSchedule(const MatmulProblem &problem,
                              const target::TargetInfo &target);

/// Ranks schedules with and without workspaces. `whole` is the problem of `op`,
/// possibly with assumed sizes. `memos` is indexed by workspace, or empty.
std::vector<Candidate>
rankWithWorkspaces(MatmulOpInterface op, const MatmulProblem &whole,
                   const target::TargetInfo &target,
                   llvm::MutableArrayRef<StageMemo> memos = {});

/// Returns the next matmul of the block if its kernel can share the launch of
/// `op` (mxgpu-join-launches), or null.
MatmulOpInterface findJoinable(MatmulOpInterface op);
/// Moves the schedules to the front of the candidates of two such matmuls that
/// take the least time together, with equal threads, clusters and registers if
/// one launch is faster than two.
void preferJoined(const MatmulProblem &first, std::vector<Candidate> &ofFirst,
                  const MatmulProblem &second, std::vector<Candidate> &ofSecond,
                  const target::TargetInfo &target);

/// A matmul after its workspace operands are dequantized.
struct Remainder {
  MatmulProblem problem;
  /// Cycles of dequantizing kernels. If quantizers write bf16 instead, cycles
  /// of their additional writes. Quantizers do not write permuted operands.
  int64_t before = 0, beforePermuted = 0;

  /// Returns the cost of the matmul and of the dequantizing kernels.
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

/// Dimensions with possibly dynamic sizes.
enum class SizeName { M, N, K, Groups };
inline constexpr SizeName kSizeNames[] = {SizeName::M, SizeName::N, SizeName::K,
                                          SizeName::Groups};
llvm::StringRef stringifySizeName(SizeName name);
int64_t &getSizeOf(MatmulProblem &problem, SizeName name);
/// Returns the dynamic sizes of `problem`.
llvm::SmallVector<SizeName, 4> getUnknown(MatmulProblem problem);

/// Upper limits by SizeName; ShapedType::kDynamic for no limit.
using SizeLimits = std::array<int64_t, 4>;
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

/// Returns true if the host selects a schedule at run time. The selection
/// depends on the rows and expert groups (static weights) or on the reduction
/// size (weight gradients). The model assumes values for other unknown sizes,
/// because no small set of schedules suits them all.
bool hasCases(const MatmulProblem &problem);

/// Returns true if the schedule is legal for all dynamic sizes of `op`. Bulk
/// stores require rows of static length. `typed` is the problem that results
/// from the types of `op`.
bool isLegalForAllSizes(MatmulOpInterface op, const MatmulProblem &typed,
                        const ScheduleFields &fields,
                        const target::TargetInfo &target);

/// Selects up to `most` schedules that are close to the best at many sizes
/// (docs/design/ScheduleModel.md), if any is legal. Requires hasCases().
std::vector<ScheduleCase> selectCases(MatmulOpInterface op,
                                      const MatmulProblem &problem,
                                      int64_t most,
                                      const target::TargetInfo &target);

/// Source of a schedule: the model at known sizes, the model for a range of
/// sizes, a handwritten attribute, or a measurement.
enum class ScheduleOrigin { Model, Range, Person, Tuned };

/// Prints the schedule of `op`, the candidates with their modelled terms, the
/// bottleneck of the second candidate and the memory map (--mx-explain).
/// `tuned` is the source of a measured schedule.
void explainSchedule(llvm::raw_ostream &os, MatmulOpInterface op,
                     const MatmulProblem &problem, ScheduleAttr schedule,
                     ScheduleOrigin origin,
                     llvm::ArrayRef<Candidate> candidates,
                     const target::TargetInfo &target,
                     llvm::StringRef tuned = {});

/// Prints the size ranges and explains each schedule at its example size.
void explainCases(llvm::raw_ostream &os, MatmulOpInterface op,
                  const MatmulProblem &problem,
                  llvm::ArrayRef<ScheduleCase> cases,
                  const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H
