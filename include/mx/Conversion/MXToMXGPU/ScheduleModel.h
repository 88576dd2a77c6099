//===- ScheduleModel.h - Which schedule should be fastest -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// An analytic model of a matmul kernel over the hardware table (Rates.h). All
// its numbers are modelled, in whole cycles, so that a choice is the same on
// every host. docs/design/ScheduleModel.md has the formulas.
//
//===----------------------------------------------------------------------===//

#ifndef MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H
#define MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/Rates.h"
#include <vector>

namespace mx::mxgpu {

/// The shape that stands for sizes that are not known: large, so that a kernel
/// for any shape is one for large ones.
inline constexpr int64_t kAssumedSize = 8192;

/// A problem whose sizes are known or assumed, in tiles of a schedule.
struct Grid {
  /// Of a matmul, or of one of several: groups of a reduction have a segment
  /// of it each, of `k` elements, and a result.
  int64_t m, n, k, matmuls;
  /// Rows of tiles of all matmuls.
  int64_t rowTiles, columnTiles;
  /// CTAs, or pairs of them, that work at a time.
  int64_t workers;
  /// Bytes of all of A, and of the B of one matmul, with their scales, as they
  /// lie in memory.
  int64_t aBytes, bBytes;
};

/// A size, or the one that stands for those that are not known.
int64_t orAssumed(int64_t size);

/// How rows may be divided among expert groups: each row in any as likely, or
/// in the i-th most frequent one as 1 / i (Zipf's law).
enum class Division { Even, Uneven };

Grid getGrid(const MatmulProblem &problem, const ScheduleFields &fields,
             const target::TargetInfo &target,
             Division division = Division::Even);

/// Bytes of A and B that come from HBM, by the part of them that L2 still
/// holds when they are needed again.
int64_t getLoadTraffic(const Grid &grid, const ScheduleFields &fields,
                       int64_t cache);

/// Cycles of a step in which MMAs read operands in shared memory, where
/// nothing else does.
int64_t getMmaPortCycles(const ScheduleFields &fields,
                         const MatmulBuffers &buffers,
                         const target::Rates &rates);

/// Requires `target.hasMma()`.
const target::Rates &getRates(const target::TargetInfo &target);

/// The modelled cost of a schedule, in cycles of the SM clock.
struct ModelledCost {
  // One work tile in one CTA (or pair): each pipe as if it were alone.
  int64_t mma = 0;      ///< MMAs
  int64_t port = 0;     ///< shared-memory reads of the MMAs
  int64_t fill = 0;     ///< bytes into shared memory
  int64_t ring = 0;     ///< latency of loads, with the stages there are
  int64_t steps = 0;    ///< waits and scale copies between MMAs
  int64_t epilogue = 0; ///< what keeps the epilogue busy
  int64_t exposed = 0;  ///< the part of it that the next tile waits for
  // The whole problem.
  int64_t workTiles = 0, waves = 0;
  int64_t kSteps = 0; ///< stages filled, in all work tiles together
  int64_t period = 0; ///< from one work tile to the next
  /// The part of it from the end of a cluster's loop to the next one's begin:
  /// its ends and sum.
  int64_t restart = 0;
  int64_t l2 = 0, hbm = 0;
  int64_t ends = 0;       ///< set-up, first load and last epilogue
  int64_t sum = 0;        ///< the second kernel of a split reduction
  int64_t dequantize = 0; ///< kernels that dequantize operands before
  int64_t total = 0;

  /// All but ends, sum and dequantize.
  int64_t getLoop() const { return total - ends - sum - dequantize; }
  /// What bounds the loop: "MMAs", "shared memory", "fill", "ring",
  /// "epilogue", "L2" or "HBM", or "latency" if clusters that start anew do.
  llvm::StringRef getPipe() const;
  /// The same, or "latency" if the ends take longer than the loop.
  llvm::StringRef getLimit() const {
    return ends + sum + dequantize > getLoop() ? "latency" : getPipe();
  }
};

/// Types do not say how rows are divided among groups: the mean of both
/// divisions, where it matters.
ModelledCost getModelledCost(const MatmulProblem &problem,
                             const ScheduleFields &fields,
                             const target::TargetInfo &target);

/// Cycles that the tensor cores of the chip need for the problem alone.
int64_t getIdealCycles(const MatmulProblem &problem,
                       const target::TargetInfo &target);

struct Candidate {
  const Strategy *strategy = nullptr;
  ScheduleFields fields;
  ModelledCost cost;
};

/// Maximum stages per schedule, 0 if one stage does not fit. Valid for all
/// problems that differ in sizes alone: no buffer depends on a size.
using StageMemo = llvm::DenseMap<ScheduleAttr, int64_t>;

/// Every legal schedule worth considering for `problem`, best first; of those
/// that the model cannot distinguish from the fastest, the one with the fewest
/// `kSteps` comes first. Sizes of one matmul share `memo`.
std::vector<Candidate> rankSchedules(const MatmulProblem &problem,
                                     const target::TargetInfo &target,
                                     StageMemo *memo = nullptr);

/// Why none of them is legal, of the first that was considered; empty where
/// there are some.
std::string explainNoSchedule(const MatmulProblem &problem,
                              const target::TargetInfo &target);

/// `rankSchedules` of `op` together with those of what remains of it where
/// operands are dequantized to memory before. `whole` is its problem, whose
/// sizes may be others than its types know. `memos` are by workspace, or none.
std::vector<Candidate>
rankWithWorkspaces(MatmulOpInterface op, const MatmulProblem &whole,
                   const target::TargetInfo &target,
                   llvm::MutableArrayRef<StageMemo> memos = {});

/// What remains of a matmul with a workspace, and what writes that.
struct Remainder {
  MatmulProblem problem;
  /// Cycles of the kernels that dequantize operands before, and of what
  /// quantizers write more where they make the numbers themselves. Those of a
  /// permuted operand no quantizer makes.
  int64_t before = 0, beforePermuted = 0;

  /// With the kernels before.
  ModelledCost getCost(const ScheduleFields &fields,
                       const target::TargetInfo &target) const;
  void addBefore(ModelledCost &cost, const ScheduleFields &fields) const;
};

/// What remains of the problem of `op`, of the sizes of `sized`, or none if
/// `target` does not multiply that.
std::optional<Remainder> getRemainder(MatmulOpInterface op,
                                      const MatmulProblem &sized,
                                      Workspace workspace,
                                      const target::TargetInfo &target);

/// The sizes of a matmul that may be known only at run time.
enum class SizeName { M, N, K, Groups };
inline constexpr SizeName kSizeNames[] = {SizeName::M, SizeName::N, SizeName::K,
                                          SizeName::Groups};
llvm::StringRef stringifySizeName(SizeName name);
/// One of them of `problem`, to be read or set.
int64_t &getSizeOf(MatmulProblem &problem, SizeName name);
/// Those that no type knows.
llvm::SmallVector<SizeName, 4> getUnknown(MatmulProblem problem);

/// Upper limits of sizes, by SizeName, or ShapedType::kDynamic without.
using SizeLimits = std::array<int64_t, 4>;
/// Whether the sizes of `problem` are within them.
bool fitsLimits(MatmulProblem problem, const SizeLimits &limits);

/// A schedule for all sizes up to a limit that no case before it is for.
struct ScheduleCase {
  SizeLimits limits;
  ScheduleAttr schedule;
  /// How many sizes were compared, and how much longer than the best schedule
  /// it is modelled to take there, in thousandths: on average, and at worst.
  int64_t sizes = 0, meanLoss = 0, worstLoss = 0;
  /// The matmul of one of these sizes, as an example.
  MatmulProblem example;
};

/// Whether schedules of a matmul are chosen by the sizes of a call: by rows
/// and groups, where its weights are known, or by the reduction, which in a
/// gradient of weights is over rows. Other unknown sizes are assumed: a few
/// schedules cannot be right for all of them.
bool hasCases(const MatmulProblem &problem);

/// Whether a schedule is legal whatever the sizes are that the types of `op`,
/// whose problem is `typed`, leave open: bulk stores need rows that types know.
bool isLegalForAllSizes(MatmulOpInterface op, const MatmulProblem &typed,
                        const ScheduleFields &fields,
                        const target::TargetInfo &target);

/// Schedules of `op`, which has cases: as few as take hardly longer than the
/// best for each of many sizes (docs/design/ScheduleModel.md), and at most
/// `most`. Empty where it has no schedule.
std::vector<ScheduleCase> selectCases(MatmulOpInterface op,
                                      const MatmulProblem &problem,
                                      int64_t most,
                                      const target::TargetInfo &target);

/// The first of them.
std::optional<Candidate> selectSchedule(const MatmulProblem &problem,
                                        const target::TargetInfo &target);

/// Who chose a schedule: the model for these sizes, the model for a range of
/// them, a person at the operation, or a measurement.
enum class ScheduleOrigin { Model, Range, Person, Tuned };

/// Prints the schedule of `op`, the best of `candidates` with their modelled
/// terms, why the second lost, and where everything lies (--mx-explain).
/// `tuned` says where a measured one is from.
void explainSchedule(llvm::raw_ostream &os, MatmulOpInterface op,
                     const MatmulProblem &problem, ScheduleAttr schedule,
                     ScheduleOrigin origin,
                     llvm::ArrayRef<Candidate> candidates,
                     const target::TargetInfo &target,
                     llvm::StringRef tuned = {});

/// The same of `op`, some of whose sizes no type knows: which schedule is for
/// which sizes, and each as above, at its example.
void explainCases(llvm::raw_ostream &os, MatmulOpInterface op,
                  const MatmulProblem &problem,
                  llvm::ArrayRef<ScheduleCase> cases,
                  const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_CONVERSION_MXTOMXGPU_SCHEDULEMODEL_H
