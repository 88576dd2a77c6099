//===- Strategy.h - How an instruction computes matmuls ---------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A strategy is how a matrix instruction computes a matmul: which operands it
// takes, the tiles, rings and roles of its kernel, which schedules are legal,
// which are worth considering, and what they cost. Each has a folder in
// this one, a line in Strategies.def, and an attribute in
// MXGPUStrategies.td, the fields of a schedule that are its own.
// The choice of schedules, --mx-explain, the builder of kernels and the
// epilogues ask this interface and know no strategy.
//
// Sizes are elements, costs whole cycles of the SM clock.
//
//===----------------------------------------------------------------------===//

#ifndef MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_STRATEGY_H
#define MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_STRATEGY_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Target/TargetInfo.h"
#include <memory>

namespace mx::mxgpu {

class MainLoop;
class OperandB;
class WorkPolicy;
struct ScheduledMatmul;
struct MatmulKernel;

using AddCandidate = llvm::function_ref<void(ScheduleFields)>;

class Strategy {
public:
  virtual ~Strategy();

  /// How it multiplies operands of such types, or none: not at all. It is asked
  /// for the chips and operands of its line in Strategies.def alone.
  virtual std::optional<target::MmaForm>
  match(const OperandTypes &types, const target::TargetInfo &target) const = 0;

  /// Whether its kernels read operands in the orders of `problem`. By default
  /// they read weights of activations in #mxgpu.fragment_64x64; #mxgpu.k_order
  /// is a choice of the schedule.
  virtual bool readsOrders(const MatmulProblem &problem) const;

  // Schedules.

  /// The name of its attribute.
  virtual llvm::StringRef getName() const = 0;
  /// Whether it is the strategy that an attribute names.
  virtual bool isOf(StrategyAttrInterface attr) const = 0;
  /// Its attribute, of fields that are left out.
  virtual StrategyAttrInterface
  getDefault(mlir::MLIRContext *context) const = 0;

  /// The rings of a schedule whose stages are chosen.
  virtual MatmulBuffers getBuffers(const MatmulProblem &problem,
                                   const ScheduleFields &fields) const = 0;
  /// The first rule that a schedule breaks. Registers have a check of their
  /// own.
  virtual std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const = 0;
  /// The same of registers that are given.
  virtual std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const = 0;
  /// Registers of a thread of each kind that suit a tile; none where ptxas
  /// chooses them.
  virtual llvm::SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const {
    return {};
  }

  // Candidates.

  /// Whether it wins, wherever it has candidates, over the other strategies of
  /// a problem, by more than the model sees.
  virtual bool excludesOthers() const { return false; }
  /// Calls `add` with each tile worth considering, and what depends on it.
  virtual void forEachTile(const MatmulProblem &problem,
                           AddCandidate add) const = 0;
  /// The strategy of `fields` with CTAs of a cluster that have a split of the
  /// reduction each, or null where it has none such.
  virtual StrategyAttrInterface
  getClusterSplit(const ScheduleFields &fields) const {
    return {};
  }
  /// Whether each of them adds and stores some rows of the sum, rather than one
  /// of them all.
  virtual bool distributesPartials() const { return false; }
  /// Adds to `fields` what depends on the split of the reduction.
  virtual void refineSplit(const MatmulProblem &problem,
                           ScheduleFields &fields) const {}
  /// Calls `add` with each order in which a worker may go through the work
  /// tiles of `fields` that is worth considering; `isPersistent` says that it
  /// has several.
  virtual void forEachLoop(const MatmulProblem &problem, ScheduleFields fields,
                           bool isPersistent, AddCandidate add) const;

  // Costs (docs/design/ScheduleModel.md).

  /// Of shared memory in a step, or of threads between two slices of it.
  virtual int64_t getPortCycles(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                const MatmulBuffers &buffers,
                                const target::Rates &rates) const = 0;
  /// Between the MMAs of two steps.
  virtual int64_t getStepCycles(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                const MatmulBuffers &buffers,
                                const target::Rates &rates) const;
  /// What MMAs hold of the ring's stages, and no load has, on average: per
  /// cent of a stage.
  virtual int64_t getHeldPercent(const ScheduleFields &fields) const {
    return 0;
  }
  /// What direct stores of elements of `bits` take, per cent of the time that
  /// whole sectors of memory take.
  virtual int64_t getDirectStorePercent(const MatmulProblem &problem,
                                        int64_t bits) const {
    return 100;
  }
  /// Of the loop over the reduction, whose longest part takes `longest`.
  virtual int64_t getLoopCycles(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                int64_t longest) const;
  /// Of kernels other than the matmul's.
  virtual int64_t getOtherKernels(const MatmulProblem &problem,
                                  const ScheduleFields &fields,
                                  const Grid &grid, int64_t waves,
                                  const target::Rates &rates) const {
    return 0;
  }

  // --mx-explain.

  /// What distinguishes its schedules beyond the fields that all have, in
  /// words of few letters, each with a space before it.
  virtual std::string describe(const ScheduleFields &fields) const {
    return {};
  }
  /// The roles of the registers of a schedule, in its order.
  virtual llvm::ArrayRef<llvm::StringLiteral> getRoles() const;

  // Kernels.

  virtual std::unique_ptr<MainLoop>
  createMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b) const = 0;
  /// Builds all kernels of a matmul whose reduction no second kernel adds up,
  /// and their launches.
  virtual void build(const ScheduledMatmul &matmul,
                     mlir::gpu::GPUModuleOp module) const;
};

/// A strategy with its attribute, its main loop and the instruction whose MMAs
/// it takes.
template <typename AttrT, typename MainLoopT,
          const target::MmaInstruction &Instruction>
class StrategyOf : public Strategy {
public:
  std::optional<target::MmaForm>
  match(const OperandTypes &types, const target::TargetInfo &) const override {
    return target::lookupMma(Instruction, types.a, types.b, types.blockSize,
                             types.scaleFormat);
  }
  std::unique_ptr<MainLoop> createMainLoop(MatmulKernel &kernel,
                                           WorkPolicy &work,
                                           OperandB &b) const final {
    return std::make_unique<MainLoopT>(kernel, work, b);
  }
  llvm::StringRef getName() const final { return AttrT::name; }
  bool isOf(StrategyAttrInterface attr) const final {
    return llvm::isa<AttrT>(attr);
  }
  StrategyAttrInterface getDefault(mlir::MLIRContext *context) const final {
    return AttrT::get(context);
  }

protected:
  /// Its own fields of a schedule.
  static AttrT getOwn(const ScheduleFields &fields) {
    return llvm::cast<AttrT>(fields.strategy);
  }
};

#define MX_STRATEGY(name, family, a, b) const Strategy &get##name();
#include "Strategies.def"
#undef MX_STRATEGY

/// Adds the strategy of a plug-in to those of Strategies.def; it is asked after
/// them, for all chips and operands, and lives as long as the process. At
/// start-up, before anything is compiled.
void registerStrategy(const Strategy &strategy);

/// The strategy of `problem` that `attr` names, or null.
const Strategy *lookupStrategy(const MatmulProblem &problem,
                               StrategyAttrInterface attr);
/// The same of a schedule that names one of them.
const Strategy &getStrategy(const MatmulProblem &problem,
                            const ScheduleFields &fields);

/// Registers of a thread of each of `groups` warpgroups together.
int64_t getRegistersOfWarpgroups(int64_t groups,
                                 const target::TargetInfo &target);
/// Checks the registers of a kernel where `groups` warpgroups multiply and one
/// loads, both with at least `least`.
std::optional<ScheduleError> checkTwoRoles(const ScheduleFields &fields,
                                           int64_t groups,
                                           llvm::ArrayRef<int64_t> least,
                                           const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_STRATEGY_H
