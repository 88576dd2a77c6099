//===- JoinedSchedules.cpp - Schedules of kernels that share a launch -----===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mxgpu-join-launches joins kernels with equal threads, clusters and registers.
// Small matmuls gain more from a single launch, and from work tiles that occupy
// all SMs together, than from the schedules that are best alone.
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

/// Number of candidates of each matmul that are compared.
static constexpr size_t kMostCandidates = 64;

MatmulOpInterface mx::mxgpu::findJoinable(MatmulOpInterface op) {
  Operation *next = op->getNextNode();
  while (isa_and_present<tensor::EmptyOp, tensor::DimOp>(next) ||
         (next && isa<arith::ArithDialect>(next->getDialect())))
    next = next->getNextNode();
  auto matmul = dyn_cast_or_null<MatmulOpInterface>(next);
  bool isUsed = matmul && llvm::any_of(matmul->getOperands(), [&](Value value) {
                  return value.getDefiningOp() == op;
                });
  return isUsed ? MatmulOpInterface() : matmul;
}

namespace {
/// Properties of a candidate's kernel.
struct Kernel {
  int64_t threads, ctas, clusterSize;
  SmallVector<int64_t> registers;

  bool canJoin(const Kernel &other) const {
    return threads == other.threads && clusterSize == other.clusterSize &&
           registers == other.registers;
  }
};
} // namespace

static Kernel getKernel(const MatmulProblem &problem, ScheduleFields fields,
                        const target::TargetInfo &target) {
  completeSchedule(problem, fields, target);
  Grid grid = getGrid(problem, fields, target);
  int64_t cluster = fields.strategy.getCtas();
  if (fields.strategy.getClusterSplit())
    cluster *= fields.splitK;
  int64_t tiles = grid.rowTiles * grid.columnTiles * fields.splitK;
  return {getBudget(problem, fields, target).threads,
          tiles * fields.strategy.getCtas(), cluster, fields.registers};
}

void mx::mxgpu::preferJoined(const MatmulProblem &first,
                             std::vector<Candidate> &ofFirst,
                             const MatmulProblem &second,
                             std::vector<Candidate> &ofSecond,
                             const target::TargetInfo &target) {
  auto getKernels = [&](const MatmulProblem &problem,
                        const std::vector<Candidate> &candidates) {
    SmallVector<std::pair<size_t, Kernel>> kernels;
    for (size_t i = 0; i < std::min(candidates.size(), kMostCandidates); ++i)
      if (candidates[i].fields.workspace == Workspace::None)
        kernels.emplace_back(i,
                             getKernel(problem, candidates[i].fields, target));
    return kernels;
  };
  auto kernels = getKernels(first, ofFirst);
  auto others = getKernels(second, ofSecond);
  int64_t gap = getRates(target).nextKernel;
  int64_t best = ofFirst.front().cost.total + ofSecond.front().cost.total + gap;
  std::pair<size_t, size_t> chosen = {0, 0};
  for (auto &[i, a] : kernels)
    for (auto &[j, b] : others) {
      if (!a.canJoin(b))
        continue;
      int64_t ofA = ofFirst[i].cost.total, ofB = ofSecond[j].cost.total;
      bool fits = a.ctas + b.ctas <= target.smCount;
      int64_t cost = fits ? std::max(ofA, ofB) : ofA + ofB;
      if (cost < best) {
        best = cost;
        chosen = {i, j};
      }
    }
  auto prefer = [](std::vector<Candidate> &candidates, size_t index) {
    std::rotate(candidates.begin(), candidates.begin() + index,
                candidates.begin() + index + 1);
  };
  prefer(ofFirst, chosen.first);
  prefer(ofSecond, chosen.second);
}
