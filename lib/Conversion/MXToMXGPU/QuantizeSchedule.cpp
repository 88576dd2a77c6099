//===- QuantizeSchedule.cpp - Choose how each quantizer runs --------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// A table, not a model: quantizers wait for memory, and what keeps it busy was
// measured on an H200. Along rows, 32 KiB of loads a CTA under way before the
// first is used, and as many CTAs as registers allow; narrower results need
// more instructions and gain by more, smaller CTAs.
//
//===----------------------------------------------------------------------===//

#include "KernelBuilder.h"

using namespace mlir;
using namespace mx;
using namespace mx::mxgpu;

namespace {
enum class Input { BF16, F16, F32 };
enum class Output { Bytes, E2M1, NVFP4 };
struct Choice {
  Input input;
  Output output;
  int64_t threads, vector, ctas;
};
} // namespace

static constexpr Choice kAlongRows[] = {
    {Input::BF16, Output::Bytes, 512, 16, 2},
    {Input::BF16, Output::E2M1, 256, 16, 4},
    {Input::BF16, Output::NVFP4, 256, 16, 4},
    {Input::F16, Output::Bytes, 512, 16, 2},
    {Input::F16, Output::E2M1, 256, 16, 4},
    // 64 registers are too few.
    {Input::F16, Output::NVFP4, 256, 16, 3},
    {Input::F32, Output::Bytes, 512, 8, 2},
    {Input::F32, Output::E2M1, 512, 8, 2},
    {Input::F32, Output::NVFP4, 512, 8, 2},
};

static Input getInput(QuantizeOp op) {
  Type type = getElementTypeOrSelf(op.getInput().getType());
  return type.isBF16() ? Input::BF16 : type.isF16() ? Input::F16 : Input::F32;
}

static Output getOutput(QuantizeOp op) {
  if (op.getGlobalScale())
    return Output::NVFP4;
  Type type = getElementTypeOrSelf(op.getOuts()[0].getType());
  return isa<Float4E2M1FNType>(type) ? Output::E2M1 : Output::Bytes;
}

QuantizeScheduleAttr mx::mxgpu::selectQuantizeSchedule(QuantizeOp op) {
  if (op.getAxes() != ArrayRef<int64_t>{1})
    return {};
  Input input = getInput(op);
  Output output = getOutput(op);
  const Choice *choice = llvm::find_if(kAlongRows, [&](const Choice &choice) {
    return choice.input == input && choice.output == output;
  });
  // Random numbers are computed, not waited for, and need their registers.
  int64_t ctas = op.getSeed() ? 1 : choice->ctas;
  return QuantizeScheduleAttr::get(op.getContext(), {128, 128}, choice->threads,
                                   choice->vector, /*stages=*/1, ctas);
}
