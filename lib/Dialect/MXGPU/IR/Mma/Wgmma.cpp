//===- Wgmma.cpp - wgmma.mma_async ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// B is in shared memory, A is in shared memory or registers, and accumulators
// are in registers. A warpgroup issues an instruction for each 32 bytes of the
// reduction and each block of 64 rows.
//===----------------------------------------------------------------------===//

#include "mx/Target/Wgmma.h"
#include "Operands.h"
#include "mlir/IR/Matchers.h"
#include "mx/Target/Descriptors.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

static int64_t countAccumulators(int64_t m, int64_t n, int64_t warpgroups) {
  return m * n / (warpgroups * target::kWarpGroupSize);
}

LogicalResult WgmmaAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t m, int64_t n, int64_t k,
                                int64_t warpgroups) {
  if (n < target::kWgmmaNMin || n > target::kWgmmaNMax ||
      n % target::kWgmmaNStep) // wgmma C1
    return emitError() << "expected n from " << target::kWgmmaNMin << " to "
                       << target::kWgmmaNMax << " in steps of "
                       << target::kWgmmaNStep << ", found " << n;
  if (k != 8 && k != 16 && k != 32) // wgmma C2
    return emitError() << "expected k = 8, 16 or 32, found " << k;
  constexpr int64_t kMostGroups =
      target::kMaxThreadsPerCta / target::kWarpGroupSize;
  if (warpgroups < 1 || warpgroups > kMostGroups) // wgmma C11
    return emitError() << "expected 1 to " << kMostGroups
                       << " warpgroups, found " << warpgroups;
  int64_t rowsAtOnce = target::kWgmmaM * warpgroups;
  // wgmma C12
  if (m < rowsAtOnce || m % rowsAtOnce || !llvm::isPowerOf2_64(m / rowsAtOnce))
    return emitError()
           << "expected m to be " << rowsAtOnce
           << " times a power of two, because each warpgroup multiplies "
           << target::kWgmmaM << " rows at a time, found " << m;
  // Registers of a thread (PTX ISA, Register State Space).
  constexpr int64_t kMostAccumulators = 255;
  if (int64_t accumulators = countAccumulators(m, n, warpgroups);
      accumulators > kMostAccumulators) // wgmma C13
    return emitError() << "expected an accumulator with at most "
                       << kMostAccumulators << " registers per thread, found "
                       << accumulators << ": divide m among more warpgroups";
  return success();
}

//===----------------------------------------------------------------------===//
// Properties
//===----------------------------------------------------------------------===//

target::MmaRoles WgmmaAttr::getRoles() const {
  return target::getInfo(target::MmaFamily::Wgmma).roles;
}

MmaShape WgmmaAttr::getMmaShape() const { return {getM(), getN(), getK()}; }

int64_t WgmmaAttr::getBlocks() const {
  return getM() / getWarpgroups() / target::kWgmmaM;
}

FragmentModes mx::mxgpu::makeModes(FragmentModes modes) {
  for (SmallVector<FragmentMode> *list : {&modes.threads, &modes.values})
    llvm::erase_if(*list, [](const FragmentMode &d) { return d.size <= 1; });
  return modes;
}

/// Returns the thread modes. Each thread holds runs of `run` adjacent columns,
/// and the last mode counts warpgroups.
static SmallVector<FragmentMode> getThreadModes(WgmmaAttr kind, int64_t run) {
  int64_t groups = kind.getWarpgroups();
  return {
      {4, 0, run}, {8, 1, 0}, {4, 16, 0}, {groups, kind.getM() / groups, 0}};
}

/// Source: PTX ISA, wgmma.mma_async, Register Fragments: D. The last modes
/// count columns, so a slice of columns is a range of registers.
FragmentModes WgmmaAttr::getAccumulatorModes(int64_t columns) const {
  return makeModes({getThreadModes(*this, 2),
                    {{2, 0, 1},
                     {2, 8, 0},
                     {getBlocks(), target::kWgmmaM, 0},
                     {columns / 8, 0, 8}}});
}

/// A thread of fragment A holds two words from each 32 bytes of two rows.
FragmentModes WgmmaAttr::getOperandModes(MmaOperand operand, Type element,
                                         int64_t columns) const {
  std::optional<target::MmaType> type = mxgpu::getMmaType(element);
  if (operand != MmaOperand::A || !type || !target::lookupWgmma(*type, *type) ||
      columns < getK() || columns % getK())
    return {};
  int64_t word = getK() / 8; // 32 bytes hold k elements
  return makeModes({getThreadModes(*this, word),
                    {{word, 0, 1},
                     {2, 8, 0},
                     {2, 0, 4 * word},
                     {columns / getK(), 0, getK()},
                     {getBlocks(), target::kWgmmaM, 0}}});
}

std::string WgmmaAttr::checkTarget(const target::TargetInfo &target) const {
  return target::checkMmaFamily(target, target::MmaFamily::Wgmma);
}

/// An instruction performs 64 x 16 = 1024 bf16 multiplications per column. An
/// SM performs 2048 per cycle (H100 datasheet: dense bf16 at 989 TFLOP/s, 1.83
/// GHz, 132 SMs), so two columns take a cycle, as with tcgen05.mma of one CTA.
int64_t WgmmaAttr::getCycles(const target::Rates &rates) const {
  return target::mmaCycles(rates, getN()) * (getM() / target::kWgmmaM);
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static std::optional<target::MmaType> getTypeOfA(MmaOp op) {
  Type type = op.getA().getType();
  if (auto fragment = dyn_cast<FragmentType>(type))
    return mxgpu::getMmaType(fragment.getElementType());
  return mxgpu::getMmaType(cast<BufferType>(type).getElementType());
}

LogicalResult WgmmaAttr::verifyMma(MmaOp &op) const {
  if ((op.getAccumulate() && !matchPattern(op.getAccumulate(), m_Zero())) ||
      op.getExtent() || op.getBOffset()) // wgmma C3
    return op.emitOpError("expected no 'extent' or 'b_offset', and no "
                          "'accumulate' other than a constant false: let the "
                          "copy engine fill elements beyond the reduction with "
                          "0");
  BufferType b = op.getBBuffer();
  std::optional<target::MmaType> aType = getTypeOfA(op);
  std::optional<target::MmaType> bType = mxgpu::getMmaType(b.getElementType());
  if (!aType || !bType) // wgmma C4
    return op.emitOpError(
               "expected bf16, f16, f8E4M3FN or f8E5M2 elements, found ")
           << op.getA().getType() << " and " << b;
  if (std::string error =
          target::checkWgmma(target::kWgmmaM, getN(), getK(), *aType, *bType);
      !error.empty()) // wgmma C5
    return op.emitOpError()
           << error << " in " << op.getA().getType() << " and " << b;
  // wgmma C6
  int64_t rowsOfB = getOperandRows(b), row = op.getRow().value_or(0);
  if (!op.getRow() && rowsOfB != getN())
    return op.emitOpError("expected ")
           << getN() << " rows of 'b', found " << rowsOfB;
  if (row < 0 || row % target::kWgmmaNStep || row + getN() > rowsOfB)
    return op.emitOpError("expected a row of 'b' from 0 to ")
           << rowsOfB - getN() << " in steps of " << target::kWgmmaNStep
           << ", found " << row;
  // wgmma C7
  if (BufferType a = op.getABuffer(); a && getOperandRows(a) != getM())
    return op.emitOpError("expected ")
           << getM() << " rows of 'a', found " << getOperandRows(a);
  auto accumulators = cast<FragmentType>(op.getD().getType());
  FragmentType expected =
      op.getKind().getAccumulatorType(Float32Type::get(getContext()), getN());
  if (accumulators != expected) // wgmma C8
    return op.emitOpError("expected an accumulator of type ")
           << expected << ", found " << accumulators;
  int64_t warps = getWarpgroups() * target::kWarpGroupWarps;
  if (RoleOp role = getRole(op);
      role && static_cast<int64_t>(role.getWarps()) != warps) // wgmma C9
    return op.emitOpError("expected a role with ")
           << warps << " warps (" << getWarpgroups()
           << (getWarpgroups() == 1 ? " warpgroup)" : " warpgroups)")
           << ", found " << role.getWarps();
  bool divides = getWarpgroups() > 1 && op.getABuffer();
  if (static_cast<bool>(op.getThread()) != divides) // wgmma C10
    return op.emitOpError(divides ? "expected 'thread', because several "
                                    "warpgroups read 'a' from shared memory"
                                  : "expected 'thread' only if several "
                                    "warpgroups read 'a' from shared memory");
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

namespace {

/// Operand A of each instruction: a descriptor or registers.
class OperandA {
public:
  OperandA(NVVMBuilder &builder, WgmmaAttr kind, MmaOp op,
           const MmaOperands &values)
      : steps(op.getReduction() / kind.getK()) {
    if (BufferType buffer = op.getABuffer())
      describe(builder, kind, op, buffer, values);
    else
      words = builder.packWords(values.a);
  }

  /// Returns the operand of instruction `step` of the 64-row block `block`.
  SmallVector<Value> at(NVVMBuilder &builder, int64_t block, int64_t step) {
    constexpr int64_t kWords = 4;
    if (described)
      return {described->at(builder, step, block * target::kWgmmaM)};
    ArrayRef<Value> all = words;
    return SmallVector<Value>(
        all.slice((block * steps + step) * kWords, kWords));
  }

private:
  void describe(NVVMBuilder &builder, WgmmaAttr kind, MmaOp op,
                BufferType buffer, const MmaOperands &values) {
    described.emplace(builder, buffer, values.a, target::encodeWgmma);
    int64_t groups = kind.getWarpgroups();
    if (groups == 1)
      return;
    Value group = arith::ShRUIOp::create(
        builder, builder.toI32(values.thread),
        builder.i32(llvm::Log2_32(target::kWarpGroupSize)));
    described->addRows(builder,
                       builder.mul(group, builder.i32(kind.getM() / groups)));
  }

  int64_t steps;
  std::optional<DescribedOperand> described;
  SmallVector<Value> words;
};

} // namespace

/// Returns a block's accumulators in instruction order, 4 per 8 columns.
static SmallVector<int64_t> getRegistersOf(int64_t block, int64_t blocks,
                                           int64_t count) {
  constexpr int64_t kAdjacent = 4;
  SmallVector<int64_t> numbers;
  for (int64_t first = block * kAdjacent; first < count;
       first += blocks * kAdjacent)
    for (int64_t i = 0; i < kAdjacent; ++i)
      numbers.push_back(first + i);
  return numbers;
}

/// Returns the number of instructions that divide the columns. ptxas rejects an
/// instruction if its accumulators exceed the registers at launch, even if
/// setmaxnreg raises the limit later (error C7602). ptxas 13.0 needs 26 further
/// registers with A in shared memory, and 30 with A in registers.
static int64_t getColumnSlices(std::optional<int64_t> launchRegisters,
                               int64_t n) {
  constexpr int64_t kRoom = 32;
  bool isTight = launchRegisters && n / 2 + kRoom > *launchRegisters;
  return isTight && n % (2 * target::kWgmmaNStep) == 0 ? 2 : 1;
}

Value WgmmaAttr::emit(NVVMBuilder &builder, MmaOp &op,
                      const MmaOperands &values) const {
  OperandA a{builder, *this, op, values};
  DescribedOperand b{builder, op.getBBuffer(), values.b, target::encodeWgmma};
  // The fence orders register accesses before the instructions (PTX ISA,
  // wgmma.fence). It is convergent; in the same block as the instructions it
  // keeps LLVM from copying the registers.
  builder.fenceWarpgroup();
  int64_t accumulators = countAccumulators(getM(), getN(), getWarpgroups());
  int64_t slices = getColumnSlices(values.launchRegisters, getN()),
          columns = getN() / slices;
  int64_t first = op.getColumn().value_or(0) / getK(),
          row = op.getRow().value_or(0);
  SmallVector<WgmmaBlock> blocks;
  for (int64_t number = 0; number < getBlocks(); ++number) {
    SmallVector<int64_t> registers =
        getRegistersOf(number, getBlocks(), accumulators);
    ArrayRef<int64_t> all = registers;
    for (int64_t slice = 0; slice < slices; ++slice) {
      WgmmaBlock &block = blocks.emplace_back();
      block.overwrites = op.getAccumulate() != nullptr;
      size_t count = all.size() / slices;
      block.accumulators = llvm::to_vector(all.slice(slice * count, count));
      for (int64_t step = 0; step < op.getReduction() / getK(); ++step)
        block.steps.push_back(
            {a.at(builder, number, step),
             b.at(builder, first + step, row + slice * columns)});
    }
  }
  Value results = builder.mmaWarpgroup(
      {target::kWgmmaM, static_cast<unsigned>(columns),
       static_cast<unsigned>(getK()), *getTypeOfA(op),
       *mxgpu::getMmaType(op.getBBuffer().getElementType())},
      values.d, blocks);
  builder.commitWarpgroup();
  return results;
}
