//===- TestStrategy.cpp - Matmuls on the made-up tensor core --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The copy engine fills one ring with tiles of A and B and their scales. Each
// warp reads a stage into registers, multiplies with #mx_test.mma, and holds
// the accumulator for 16 rows. Only the chip sm_test supports this tensor core.
//===----------------------------------------------------------------------===//

#include "Matmul/MainLoop/MainLoop.h"
#include "Matmul/Strategies/Common/RingTypes.h"
#include "Matmul/Strategies/Strategy.h"
#include "TestDialect.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;
using mx::test::TestMmaAttr;
using mx::test::TestOrderAttr;
using mx::test::TestStrategyAttr;

/// Tile size: the rows of the instruction, and the elements of K that a scale
/// tile covers.
static constexpr int64_t kRows = 16, kReduction = 128;
static constexpr unsigned kBlock = 32;

static const target::MmaInstruction kMultiply = {
    "mx_test.multiply", /*takesScales=*/true, /*k=*/32, /*wholeK=*/0, kRows};

namespace {

class TestMainLoop final : public MainLoop {
public:
  TestMainLoop(MatmulKernel &kernel, WorkPolicy &work, OperandB &b)
      : MainLoop(kernel, work, b) {}

  void addOperands(KernelArguments &signature) override {
    RingType ring = matmul.buffers.inputs;
    signature.add(Arg::AMap, encodeElements(matrices.a, ring, "a", kRows));
    signature.add(Arg::BMap,
                  encodeElements(matrices.b, ring, "b", b.getBoxRows()));
    addScales(signature);
  }
  void createRings() override {
    inputs = body.ring(matmul.buffers.inputs, "in");
  }
  void buildRoles(EpiloguePolicy &epilogue) override {
    buildMultiply(epilogue, [&](ForEachWorkTileOp workTile) {
      return multiply(workTile);
    });
    buildScaledLoads(inputs);
  }

private:
  Value multiply(ForEachWorkTileOp workTile);
  Value loadElements(MmaOperand operand, Value buffer);
  Value loadScales(MmaOperand operand, Value buffer, Value first, Value extent);

  Value inputs;
};

} // namespace

Value TestMainLoop::loadElements(MmaOperand operand, Value buffer) {
  auto element = cast<BufferType>(buffer.getType()).getElementType();
  MmaAttrInterface mma = matmul.buffers.mma;
  FragmentType type = mma.getOperandType(operand, element, kReduction);
  auto load = [&](FragmentType loaded) {
    return LoadFragmentOp::create(body, loaded, buffer, body.index(0),
                                  body.index(0), /*thread=*/Value());
  };
  if (operand != MmaOperand::B || !matmul.problem.bOrder)
    return load(type);
  // The order stores the two words of each thread next to each other.
  auto stored = FragmentLayoutAttr::getWithoutUnits(
      body.getContext(), {{4, 0, 8}, {8, 1, 0}},
      {{8, 0, 1}, {kReduction / 32, 0, 32}, {mma.getMmaShape().n / 8, 8, 0}});
  return RelabelFragmentOp::create(body, type,
                                   load(FragmentType::get(element, stored)));
}

/// Loads scales from row `first` of a scale tile. Blocks starting at `extent`
/// are out of bounds.
Value TestMainLoop::loadScales(MmaOperand operand, Value buffer, Value first,
                               Value extent) {
  MmaAttrInterface mma = matmul.buffers.mma;
  FragmentType type =
      mma.getOperandType(operand, matmul.problem.scales, kReduction / kBlock);
  return LoadFragmentScalesOp::create(body, type, buffer, first, body.index(0),
                                      extent, /*thread=*/Value(),
                                      /*block_size=*/1, type);
}

Value TestMainLoop::multiply(ForEachWorkTileOp workTile) {
  OpBuilder::InsertionGuard guard(body);
  MmaAttrInterface mma = matmul.buffers.mma;
  Value scaleRows = body.index(kScaleTileRows);
  Value rowOfA = body.rem(work.getFirstRow(workTile), scaleRows);
  Value rowOfB = body.rem(workTile.getColumn(), scaleRows);
  Value zero = ZeroFragmentOp::create(
      body, mma.getAccumulatorType(body.getF32Type(), matmul.getTileColumns()));
  ForEachKOp step = forEachTile(workTile, zero);
  Value extent =
      areTilesWhole() ? Value() : body.ceilDiv(step.getExtent(), kBlock);
  auto stage = ConsumerWaitOp::create(body, inputs);
  Value a = loadElements(MmaOperand::A, stage.getBuffer("a"));
  Value b = loadElements(MmaOperand::B, stage.getBuffer("b"));
  Value aScales =
      loadScales(MmaOperand::AScales, stage.getBuffer("sfa"), rowOfA, extent);
  Value bScales =
      loadScales(MmaOperand::BScales, stage.getBuffer("sfb"), rowOfB, extent);
  auto next = MmaOp::create(body, zero.getType(), mma, a, b, aScales, bScales,
                            step.getRegionIterArgs()[0], /*b_offset=*/Value(),
                            /*accumulate=*/Value(), /*extent=*/Value(),
                            /*thread=*/Value(),
                            /*column=*/IntegerAttr(), /*row=*/IntegerAttr());
  ConsumerReleaseOp::create(body, stage.getStage());
  step.getYield().getValuesMutable().assign(next.getAccumulator());
  return step.getResult(0);
}

namespace {

class TestStrategy final
    : public StrategyOf<TestStrategyAttr, TestMainLoop, kMultiply> {
public:
  std::optional<target::MmaForm>
  match(const OperandTypes &types,
        const target::TargetInfo &target) const override {
    constexpr auto kType = target::MmaType::E4M3;
    if (std::string_view(target.chip) != "sm_test" || types.a != kType ||
        types.b != kType)
      return std::nullopt;
    return StrategyOf::match(types, target);
  }

  /// Accepts an operand order for B.
  bool readsOrders(const MatmulProblem &problem) const override {
    auto order = dyn_cast_if_present<TestOrderAttr>(problem.bOrder);
    return !problem.aOrder && (!problem.bOrder || (order && !order.hasTiles()));
  }

  MatmulBuffers getBuffers(const MatmulProblem &problem,
                           const ScheduleFields &fields) const override;
  std::optional<ScheduleError>
  checkSchedule(const MatmulProblem &problem, const ScheduleFields &fields,
                const target::TargetInfo &target) const override;
  std::optional<ScheduleError>
  checkRegisters(const MatmulProblem &, const ScheduleFields &,
                 const target::TargetInfo &) const override {
    return ScheduleError{"expected no registers: ptxas chooses them", {}};
  }
  void forEachTile(const MatmulProblem &problem,
                   AddCandidate add) const override {
    for (int64_t columns : {8, 16, 32, 64}) {
      ScheduleFields fields;
      fields.strategy = getDefault(problem.out.getContext());
      fields.tile = {kRows, columns, kReduction};
      add(fields);
    }
  }
  int64_t getPortCycles(const MatmulProblem &, const ScheduleFields &fields,
                        const MatmulBuffers &buffers,
                        const target::Rates &rates) const override {
    return getMmaPortCycles(fields, buffers, rates);
  }
  ArrayRef<StringLiteral> getRoles() const override { return {}; }
};

} // namespace

MatmulBuffers TestStrategy::getBuffers(const MatmulProblem &problem,
                                       const ScheduleFields &fields) const {
  RingTypes types(problem, fields);
  MatmulBuffers buffers;
  auto mma = TestMmaAttr::get(types.context, types.tileN);
  buffers.mma = mma;
  buffers.inputs = types.getRing(
      fields.stages, {"a", "sfa", "b", "sfb"},
      {types.getBytes(types.tileM, problem.a, /*isSwizzled=*/true),
       types.getScales(types.tileM),
       types.getBytes(types.tileN, problem.b, /*isSwizzled=*/true),
       types.getScales(types.tileN)},
      {AsyncKind::BulkCopy}, {AsyncKind::Threads, target::kWarpSize},
      Scope::Cta);
  buffers.otherWarps = 1; // loads
  FragmentModes modes = mma.getAccumulatorModes(types.tileN);
  types.addEpilogue(
      buffers,
      FragmentLayoutAttr::get(types.context, modes.threads, modes.values),
      /*warps=*/1);
  return buffers;
}

std::optional<ScheduleError>
TestStrategy::checkSchedule(const MatmulProblem &problem,
                            const ScheduleFields &fields,
                            const target::TargetInfo &) const {
  ArrayRef<int64_t> tile = fields.tile;
  if (tile[0] != kRows || tile[2] != kReduction || tile[1] < 8 ||
      tile[1] > 64 || !llvm::isPowerOf2_64(tile[1]))
    return ScheduleError{
        llvm::formatv("expected a tile of {0} rows, 8, 16, 32 or 64 columns "
                      "and {1} reduction elements, found {2} x {3} x {4}",
                      kRows, kReduction, tile[0], tile[1], tile[2]),
        {}};
  if (problem.ragged != RaggedKind::None || problem.numB > 1)
    return ScheduleError{"expected one matrix of B, without expert groups", {}};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Registration
//===----------------------------------------------------------------------===//

/// Returns a chip that has its own limits and is as fast as the H200.
static target::TargetInfo getChip() {
  target::TargetInfo chip = *target::lookupTarget("sm_120a");
  chip.chip = "sm_test";
  chip.hasOwnStrategies = true;
  chip.rates = &target::kH200Rates;
  chip.quantizersMeasuredOn = "sm_90a";
  return chip;
}

namespace mx::test {
void registerTensorCore(DialectRegistry &registry);
} // namespace mx::test

void mx::test::registerTensorCore(DialectRegistry &registry) {
  registerTestDialect(registry);
  target::registerTarget(getChip());
  static const TestStrategy strategy;
  registerStrategy(strategy);
}
