//===- Strategy.h - Interface of matmul strategies ------------ -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A strategy is a method of computing matmuls with an MMA instruction. It
// defines the supported operands, the tiles, rings and roles of the kernel,
// legal and candidate schedules, and costs. Each strategy consists of a folder
// here, a line in Strategies.def, and an attribute in MXGPUStrategies.td with
// its schedule fields. The schedule choice, --mx-explain, kernel construction
// and epilogues use only this interface. Sizes are in elements, and costs are
// in whole cycles of the SM clock.
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

  /// Returns the MMA form for operands of `types`, or none if unsupported.
  /// Called only for the chips and operands of the line in Strategies.def.
  virtual std::optional<target::MmaForm>
  match(const OperandTypes &types, const target::TargetInfo &target) const = 0;

  /// Returns true if kernels support the operand orders of `problem`. The
  /// default supports weights in #mxgpu.fragment_64x64 if A is bf16, and
  /// accepts #mxgpu.k_order, because schedule checks reject unsupported cases.
  virtual bool readsOrders(const MatmulProblem &problem) const;

  // Schedules.

  /// Returns the name of the attribute.
  virtual llvm::StringRef getName() const = 0;
  /// Returns true if `attr` is this strategy's attribute.
  virtual bool isOf(StrategyAttrInterface attr) const = 0;
  virtual StrategyAttrInterface
  getDefault(mlir::MLIRContext *context) const = 0;

  /// Returns the rings of a schedule with a known number of stages.
  virtual MatmulBuffers getBuffers(const MatmulProblem &problem,
                                   const ScheduleFields &fields) const = 0;
  /// Returns the first violated rule except rules on registers.
  virtual std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const = 0;
  virtual std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &problem, const ScheduleFields &fields,
                 const target::TargetInfo &target) const = 0;
  /// Returns suitable registers per thread for each role, or an empty list if
  /// ptxas assigns registers.
  virtual llvm::SmallVector<int64_t>
  getRegisters(const MatmulProblem &problem,
               const ScheduleFields &fields) const {
    return {};
  }

  // Candidates.

  /// Returns true if the strategy outperforms all others for every problem for
  /// which it has candidates, by a margin that the model does not capture.
  virtual bool excludesOthers() const { return false; }
  /// Returns true if results are staged in buffers for a whole tile if
  /// memory permits, because stores that wait for buffers delay the next MMAs.
  virtual bool stagesWholeTiles() const { return false; }
  /// Calls `add` with each candidate tile and its dependent fields.
  virtual void forEachTile(const MatmulProblem &problem,
                           AddCandidate add) const = 0;
  /// Returns the strategy of `fields` in the form in which the CTAs of a
  /// cluster compute the splits, or null if unsupported.
  virtual StrategyAttrInterface
  getClusterSplit(const ScheduleFields &fields) const {
    return {};
  }
  /// Returns true if each CTA of the cluster adds and stores a part of the sum.
  /// Otherwise a single CTA adds and stores the whole sum.
  virtual bool distributesPartials() const { return false; }
  /// Sets the fields that depend on the split.
  virtual void refineSplit(const MatmulProblem &problem,
                           ScheduleFields &fields) const {}
  /// Calls `add` with each candidate order of work tiles. `isPersistent` is
  /// true if a worker processes several work tiles.
  virtual void forEachLoop(const MatmulProblem &problem, ScheduleFields fields,
                           bool isPersistent, AddCandidate add) const;

  // Costs (docs/design/ScheduleModel.md).

  /// Returns the cycles of a step in shared memory or in dequantizing threads.
  virtual int64_t getPortCycles(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                const MatmulBuffers &buffers,
                                const target::Rates &rates) const = 0;
  /// Returns the cycles between the MMAs of two steps.
  virtual int64_t getStepCycles(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                const MatmulBuffers &buffers,
                                const target::Rates &rates) const;
  /// Returns the average part of the ring held by MMAs, in per cent of a stage.
  virtual int64_t getHeldPercent(const ScheduleFields &fields) const {
    return 0;
  }
  /// Returns the time of direct stores of `bits`-bit elements, in per cent of
  /// the time of whole-sector stores.
  virtual int64_t getDirectStorePercent(const MatmulProblem &problem,
                                        int64_t bits) const {
    return 100;
  }
  /// Returns the reduction loop's cycles, given the cycles of its longest part.
  virtual int64_t getLoopCycles(const MatmulProblem &problem,
                                const ScheduleFields &fields,
                                int64_t longest) const;
  /// Returns the cycles of additional kernels.
  virtual int64_t getOtherKernels(const MatmulProblem &problem,
                                  const ScheduleFields &fields,
                                  const Grid &grid, int64_t waves,
                                  const target::Rates &rates) const {
    return 0;
  }

  // --mx-explain.

  /// Describes the strategy's own fields, each with a leading space.
  virtual std::string describe(const ScheduleFields &fields) const {
    return {};
  }
  /// Returns the roles of a schedule's registers, in order.
  virtual llvm::ArrayRef<llvm::StringLiteral> getRoles() const;

  // Kernels.

  virtual std::unique_ptr<MainLoop>
  createMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b) const = 0;
  /// Builds and launches all kernels of a matmul, except a reduction of splits.
  virtual void build(const ScheduledMatmul &matmul,
                     mlir::gpu::GPUModuleOp module) const;
};

/// Base class of strategies with the given attribute, main loop and
/// instruction.
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
  /// Returns the strategy's own schedule fields.
  static AttrT getOwn(const ScheduleFields &fields) {
    return llvm::cast<AttrT>(fields.strategy);
  }
};

#define MX_STRATEGY(name, family, a, b) const Strategy &get##name();
#include "Strategies.def"
#undef MX_STRATEGY

/// Registers a strategy of a plug-in, which is matched after the strategies in
/// Strategies.def, for all chips and operands. `strategy` must outlive all
/// compilations. Must be called at start-up, before compiling.
void registerStrategy(const Strategy &strategy);

/// Returns the strategy of `problem` that `attr` names, or null.
const Strategy *lookupStrategy(const MatmulProblem &problem,
                               StrategyAttrInterface attr);
/// Returns the strategy of a schedule, which must be valid for `problem`.
const Strategy &getStrategy(const MatmulProblem &problem,
                            const ScheduleFields &fields);

/// Returns the maximum sum of registers per thread over `groups` warpgroups.
int64_t getRegistersOfWarpgroups(int64_t groups,
                                 const target::TargetInfo &target);
/// Checks registers for `groups` MMA warpgroups and a load warpgroup, with
/// minima `least`.
std::optional<ScheduleError> checkTwoRoles(const ScheduleFields &fields,
                                           int64_t groups,
                                           llvm::ArrayRef<int64_t> least,
                                           const target::TargetInfo &target);

} // namespace mx::mxgpu

#endif // MX_LIB_CONVERSION_MXTOMXGPU_MATMUL_STRATEGIES_STRATEGY_H
