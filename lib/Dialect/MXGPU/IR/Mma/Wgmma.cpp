//===- Wgmma.cpp - wgmma.mma_async ----------------------------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Operands in shared memory, sums in the registers of a warpgroup, which issues
// an instruction for each 32 bytes of the reduction.
//
//===----------------------------------------------------------------------===//

#include "mx/Target/Wgmma.h"
#include "Operands.h"
#include "mlir/IR/Matchers.h"
#include "mx/Target/Descriptors.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

LogicalResult WgmmaAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                int64_t n, int64_t k) {
  // wgmma C1
  if (n < target::kWgmmaNMin || n > target::kWgmmaNMax ||
      n % target::kWgmmaNStep)
    return emitError() << "expected n from " << target::kWgmmaNMin << " to "
                       << target::kWgmmaNMax << " in steps of "
                       << target::kWgmmaNStep << ", found " << n;
  // wgmma C2
  if (k != 8 && k != 16 && k != 32)
    return emitError() << "expected k = 8, 16 or 32, found " << k;
  return success();
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

const target::MmaFamilyInfo &WgmmaAttr::getFamily() const {
  return target::getInfo(target::MmaFamily::Wgmma);
}

MmaShape WgmmaAttr::getMmaShape() const {
  return {target::kWgmmaM, getN(), getK()};
}

int64_t WgmmaAttr::getNumCtas() const { return 1; }
int64_t WgmmaAttr::getScaleBlock() const { return 0; }

/// PTX ISA, wgmma.mma_async, Register Fragments: the fragment D.
FragmentDigits WgmmaAttr::getSumDigits(int64_t columns) const {
  FragmentDigits digits = {{{4, 0, 2}, {8, 1, 0}, {4, 16, 0}},
                           {{2, 0, 1}, {2, 8, 0}}};
  if (columns > 8)
    digits.values.push_back({columns / 8, 0, 8});
  return digits;
}

std::string WgmmaAttr::checkTarget(const target::TargetInfo &target) const {
  return target::checkMmaFamily(target, target::MmaFamily::Wgmma);
}

/// 64 rows by 16 elements of bf16 are 1024 products a column; 989 TFLOP/s of
/// dense bf16 at 1.83 GHz on 132 SMs are 2048 products a cycle and SM (H100
/// datasheet): as many columns a cycle as tcgen05.mma of one CTA.
int64_t WgmmaAttr::getCycles(const target::Rates &rates) const {
  return target::mmaCycles(rates, getN());
}

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

LogicalResult WgmmaAttr::verifyMma(MmaOp &op) const {
  // wgmma C3
  if (op.getAccumulate() || op.getExtent() || op.getBOffset())
    return op.emitOpError("expected neither accumulate, extent nor b_offset: "
                          "begin with mxgpu.zero_fragment, and let the copy "
                          "engine fill what lies beyond the reduction with 0");
  BufferType a = op.getA().getType(), b = op.getB().getType();
  std::optional<target::MmaType> aType = mxgpu::getMmaType(a.getElementType());
  std::optional<target::MmaType> bType = mxgpu::getMmaType(b.getElementType());
  // wgmma C4
  if (!aType || !bType)
    return op.emitOpError("expected elements of bf16, f16, f8E4M3FN or f8E5M2, "
                          "found ")
           << a << " and " << b;
  // wgmma C5
  if (std::string error =
          target::checkWgmma(target::kWgmmaM, getN(), getK(), *aType, *bType);
      !error.empty())
    return op.emitOpError() << error << " in " << a << " and " << b;
  // wgmma C6
  if (getOperandRows(b) != getN())
    return op.emitOpError("expected ")
           << getN() << " rows of b, found " << getOperandRows(b);
  int64_t rows = getOperandRows(a);
  // wgmma C7
  if (op.getARow() ? rows % target::kWgmmaM != 0 : rows != target::kWgmmaM)
    return op.emitOpError("expected ")
           << target::kWgmmaM << " rows of a, or a multiple of them and a row "
           << "where they begin, found " << rows;
  IntegerAttr first;
  // wgmma C10
  if (op.getARow() && matchPattern(op.getARow(), m_Constant(&first)) &&
      (first.getInt() < 0 || first.getInt() >= rows ||
       first.getInt() % target::kWgmmaM))
    return op.emitOpError("expected a row of a that is a multiple of ")
           << target::kWgmmaM << " below " << rows << ", found "
           << first.getInt();
  auto sums = cast<FragmentType>(op.getD().getType());
  FragmentType expected =
      op.getKind().getSumType(Float32Type::get(getContext()), getN());
  // wgmma C8
  if (sums != expected)
    return op.emitOpError("expected sums of ")
           << expected << ", found " << sums;
  // wgmma C9
  if (RoleOp role = getRole(op); role && role.getWarps() % 4)
    return op.emitOpError("expected a role of whole warpgroups, found ")
           << role.getWarps() << " warps";
  return success();
}

//===----------------------------------------------------------------------===//
// Emission
//===----------------------------------------------------------------------===//

Value WgmmaAttr::emit(NVVMBuilder &builder, MmaOp &op,
                      const MmaOperands &values) const {
  BufferType a = op.getA().getType(), b = op.getB().getType();
  DescribedOperand aOperand{builder, a, values.a, target::encodeWgmma};
  if (values.aRow)
    aOperand.addRows(builder, builder.toI32(values.aRow));
  DescribedOperand bOperand{builder, b, values.b, target::encodeWgmma};
  // Registers that the instructions are about to use are ordered by the fence
  // (PTX ISA, wgmma.fence). It is convergent: in the block of the instructions
  // it keeps LLVM from making copies of them.
  builder.fenceWarpgroup();
  SmallVector<std::pair<Value, Value>> steps;
  for (int64_t step = 0; step < op.getReduction() / getK(); ++step)
    steps.push_back({aOperand.at(builder, step), bOperand.at(builder, step)});
  Value sums = builder.mmaWarpgroup(
      {target::kWgmmaM, static_cast<unsigned>(getN()),
       static_cast<unsigned>(getK()), *mxgpu::getMmaType(a.getElementType()),
       *mxgpu::getMmaType(b.getElementType())},
      values.d, steps);
  builder.commitWarpgroup();
  return sums;
}
