//===- Workspace.cpp - Workspaces of dequantized operands -----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/ScheduleModel.h"
#include "mx/Support/OperandOrders.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

Workspace mx::mxgpu::getPermuted(const ScheduleFields &fields) {
  return fields.strategy ? fields.strategy.getPermuted() : Workspace::None;
}

std::string mx::mxgpu::explainNotPermuted(const MatmulProblem &problem,
                                          Workspace permuted) {
  bool permutesA = permuted == Workspace::A;
  bool hasOther = permutesA ? problem.hasScalesOfB() : problem.hasScalesOfA();
  std::string name = "permuted_" + stringifyWorkspace(permuted).str();
  if (!hasOther)
    return llvm::formatv(
        "expected scales of {0} with {1}, found none: leave out {1}",
        permutesA ? "b" : "a", name);
  if (problem.isPackedB)
    return llvm::formatv("expected no {0} with packed weights: leave out {0}",
                         name);
  if (ShapedType::isDynamic(problem.k))
    return llvm::formatv("expected a static reduction size with {0}, found a "
                         "dynamic size: leave out {0}",
                         name);
  if (problem.k % kReductionMultiple)
    return llvm::formatv("expected a reduction of a multiple of {0} elements "
                         "with {1}, found {2}: leave out {1}",
                         kReductionMultiple, name, problem.k);
  return {};
}

/// Returns an operand's element type, in a workspace if held there.
static std::string getDescription(MatmulOpInterface op, Value operand,
                                  bool isHeld) {
  std::string text;
  llvm::raw_string_ostream(text)
      << (isHeld ? getWorkspaceType(op) : getElementTypeOrSelf(operand));
  return text;
}

/// Returns the reason why operands of a matmul with `promote` cannot be
/// converted first: only an expanded B of static sizes can.
static std::string explainNotExpanded(MatmulOpInterface op, Workspace workspace,
                                      StringRef name) {
  auto b = cast<ShapedType>(op.getB().getType());
  if (workspace == Workspace::B && b.hasStaticShape() &&
      isa<Float4E2M1FNType>(b.getElementType()))
    return {};
  return llvm::formatv("expected no {0} with promote, except workspace = b "
                       "with a static 'b' of f4E2M1FN, found 'b' of {1}: leave "
                       "out the workspace",
                       name, b);
}

std::string mx::mxgpu::explainNoWorkspace(MatmulOpInterface op,
                                          Workspace workspace,
                                          Workspace permuted,
                                          const target::TargetInfo &target) {
  bool permutes = permuted != Workspace::None;
  // The operand is already packed in this order.
  if (permutes && workspace == Workspace::None &&
      isa_and_present<KOrderAttr>(permuted == Workspace::B ? getOrderOfB(op)
                                                           : getOrderOfA(op)))
    return {};
  if (permutes && workspace != permuted)
    return llvm::formatv("expected workspace = {0} with permuted_{0}, found "
                         "{1}",
                         stringifyWorkspace(permuted),
                         stringifyWorkspace(workspace));
  if (workspace == Workspace::None)
    return {};
  std::string name = "workspace = " + stringifyWorkspace(workspace).str();
  if (op.getPromote())
    if (std::string why = explainNotExpanded(op, workspace, name); !why.empty())
      return why;
  if (op.getWhere())
    return llvm::formatv("expected no {0} with 'where', which may need no "
                         "element: leave out the workspace",
                         name);
  std::optional<MatmulProblem> whole = getMatmulProblem(op, target);
  if (whole && whole->mma.instruction->takesScales)
    return llvm::formatv("expected no {0} on {1}, whose tensor core multiplies "
                         "by the scales: leave out the workspace",
                         name, target.chip);
  for (auto [isHeld, scales, what] :
       {std::tuple(holdsA(workspace) && permuted != Workspace::A,
                   op.getAScales(), "a"),
        std::tuple(holdsB(workspace) && permuted != Workspace::B,
                   op.getBScales(), "b")})
    if (isHeld && !scales)
      return llvm::formatv("expected scales of {0} with {1}, found none: leave "
                           "out the workspace",
                           what, name);
  for (auto [isHeld, order, what] :
       {std::tuple(holdsA(workspace), getOrderOfA(op), "a"),
        std::tuple(holdsB(workspace), getOrderOfB(op), "b")})
    if (isHeld && order)
      return llvm::formatv("expected unpacked operand '{0}' with {1}, found a "
                           "packed operand",
                           what, name);
  if (op.getRaggedOrNone() == RaggedKind::Reduction &&
      workspace != Workspace::AB)
    return llvm::formatv(
        "expected workspace = ab with ragged = reduction, because "
        "both operands or neither must have scales, found {0}",
        name);
  if (!getMatmulProblem(op, target, workspace))
    return llvm::formatv("expected {0} to produce operands that {1} can "
                         "multiply, found 'a' of {2} and 'b' of {3}",
                         name, target.chip,
                         getDescription(op, op.getA(), holdsA(workspace)),
                         getDescription(op, op.getB(), holdsB(workspace)));
  if (permutes)
    if (std::string why = explainNotPermuted(
            *getMatmulProblem(op, target, workspace), permuted);
        !why.empty())
      return why;
  if (!op->getNumResults())
    return llvm::formatv("expected tensors with {0}, found memrefs: run "
                         "mx-dequantize-operands before bufferization",
                         name);
  return {};
}

//===----------------------------------------------------------------------===//
// Remaining matmul and its cost
//===----------------------------------------------------------------------===//

static void setSizes(MatmulProblem &problem, const MatmulProblem &sized) {
  problem.m = sized.m;
  problem.n = sized.n;
  problem.k = sized.k;
  problem.groups = sized.groups;
}

/// Returns true if a quantizer in the function produces an operand only for
/// this matmul, so the quantizer can produce bf16 (mx-fuse-fake-quantize).
static bool isMadeFor(MatmulOpInterface op, Value elements, Value scales) {
  return elements.getDefiningOp<FusedQuantizeOp>() && elements.hasOneUse() &&
         scales && scales.hasOneUse() &&
         elements.getParentBlock() == op->getBlock();
}

/// Returns the cycles of the kernels that write the workspace of `op` with the
/// sizes of `sized`. If `mayBeMade`, quantizers may write bf16 directly.
static int64_t getWorkspaceCycles(MatmulOpInterface op,
                                  const MatmulProblem &sized,
                                  Workspace workspace, bool mayBeMade,
                                  const target::TargetInfo &target) {
  mayBeMade &= !op.getPromote();
  const target::Rates &rates = getRates(target);
  int64_t cycles = 0;
  auto add = [&](int64_t rows, Value operand, Value scalesOfOperand,
                 BlockShape block, bool isMade) {
    int64_t elements = rows * orAssumed(sized.k);
    Type type = getElementTypeOrSelf(operand);
    int64_t bytes = ceilDiv(elements * type.getIntOrFloatBitWidth(), 8);
    int64_t scales = scalesOfOperand ? ceilDiv(elements, block.columns) : 0;
    int64_t bits = getWorkspaceType(op).getIntOrFloatBitWidth();
    int64_t numbers = elements * bits / 8;
    // If a quantizer writes bf16, quantized elements are not written or read.
    int64_t moved =
        isMade ? numbers - bytes - scales : numbers + bytes + scales;
    cycles += (isMade ? 0 : rates.nextKernel) +
              ceilDiv(moved, rates.streamBytesPerClk);
  };
  // Each expert group of rows owns a B matrix.
  bool hasExperts = sized.ragged == RaggedKind::Rows;
  if (holdsA(workspace))
    add(orAssumed(sized.m), op.getA(), op.getAScales(), op.getBlockSize(),
        mayBeMade && isMadeFor(op, op.getA(), op.getAScales()));
  if (holdsB(workspace))
    add(orAssumed(sized.n) * (hasExperts ? orAssumed(sized.groups) : 1),
        op.getB(), op.getBScales(), op.getBlockSizeOfB(),
        mayBeMade && isMadeFor(op, op.getB(), op.getBScales()));
  return cycles;
}

void Remainder::addBefore(ModelledCost &cost,
                          const ScheduleFields &fields) const {
  int64_t cycles =
      getPermuted(fields) == Workspace::None ? before : beforePermuted;
  cost.dequantize += cycles;
  cost.total += cycles;
}

ModelledCost Remainder::getCost(const ScheduleFields &fields,
                                const target::TargetInfo &target) const {
  ModelledCost cost = getModelledCost(problem, fields, target);
  addBefore(cost, fields);
  return cost;
}

std::optional<Remainder>
mx::mxgpu::getRemainder(MatmulOpInterface op, const MatmulProblem &sized,
                        Workspace workspace, const target::TargetInfo &target) {
  std::optional<MatmulProblem> rest = getMatmulProblem(op, target, workspace);
  if (!rest)
    return std::nullopt;
  setSizes(*rest, sized);
  if (workspace == Workspace::None)
    return Remainder{*rest};
  bool isEither = workspace == Workspace::A || workspace == Workspace::B;
  if (isEither && explainNotPermuted(*rest, workspace).empty())
    rest->canPermute = workspace;
  std::optional<MatmulProblem> whole = getMatmulProblem(op, target);
  // If the case is selected at run time, quantizers run before the selection,
  // so they cannot write bf16.
  bool isChosenByCall = whole && hasCases(*whole);
  auto getCycles = [&](bool mayBeMade) {
    return getWorkspaceCycles(op, *rest, workspace, mayBeMade, target);
  };
  return Remainder{*rest, getCycles(!isChosenByCall), getCycles(false)};
}
