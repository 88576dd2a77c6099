//===- Workspace.cpp - Which operands can be dequantized before -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// See Schedule.h.
//
//===----------------------------------------------------------------------===//

#include "mx/Conversion/MXToMXGPU/Schedule.h"
#include "mx/Target/MmaFamilies.h"
#include "mx/Target/TargetInfo.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

std::string mx::mxgpu::explainNoWorkspace(MatmulOpInterface op,
                                          Workspace workspace,
                                          const target::TargetInfo &target) {
  if (workspace == Workspace::None)
    return {};
  std::string name = "workspace = " + stringifyWorkspace(workspace).str();
  std::optional<MatmulProblem> whole = getMatmulProblem(op, target);
  if (whole && whole->product.getWay().takesScales)
    return llvm::formatv("expected no {0} on {1}, whose tensor core multiplies "
                         "by the scales: leave it out",
                         name, target.chip);
  for (auto [isHeld, scales, what] :
       {std::tuple(holdsA(workspace), op.getAScales(), "a"),
        std::tuple(holdsB(workspace), op.getBScales(), "b")})
    if (isHeld && !scales)
      return llvm::formatv("expected {0} with scales for {1}, found it "
                           "without: it is multiplied as it is",
                           what, name);
  if (holdsB(workspace) && hasPackedB(op))
    return llvm::formatv("expected b that is not packed with {0}, found {1}",
                         name, op.getB().getType());
  if (!getMatmulProblem(op, target, workspace))
    return llvm::formatv("expected {0} to leave operands that {1} multiplies, "
                         "found a of {2} and b of {3}",
                         name, target.chip,
                         holdsA(workspace) ? "bf16" : "elements",
                         holdsB(workspace) ? "bf16" : "elements");
  return {};
}
