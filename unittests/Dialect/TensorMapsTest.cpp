//===- TensorMapsTest.cpp - Tensor maps of operands -----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The dialect's operand types in shared memory and the tensor maps that copy
// them must agree on the size of an element.
//===----------------------------------------------------------------------===//

#include "mx/Dialect/MXGPU/IR/TensorMaps.h"
#include "mlir/IR/MLIRContext.h"
#include "mx/Target/OperandForms.h"
#include "mx/Target/TensorMap.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mx;

namespace {

TEST(TensorMaps, ElementSizesMatchBuffers) {
  MLIRContext context;
  context.loadDialect<mxgpu::MXGPUDialect>();
  const Type types[] = {
      Float8E4M3FNType::get(&context), Float8E5M2Type::get(&context),
      Float6E2M3FNType::get(&context), Float6E3M2FNType::get(&context),
      Float4E2M1FNType::get(&context)};
  size_t count = 0;
  for (const target::OperandForm &form : target::getOperandForms())
    for (Type type : types) {
      if (mxgpu::getMmaType(type) != form.type)
        continue;
      SCOPED_TRACE(target::getName(form.type));
      auto map = mxgpu::TensorMapType::get(&context, {64, 128}, type,
                                           mxgpu::Swizzle::None, form.padded);
      auto mapType = mxgpu::getMapType(map);
      ASSERT_TRUE(mapType);
      const target::TensorMapTypeInfo &info = target::getInfo(*mapType);
      EXPECT_EQ(info.bits, target::getBits(form.type));
      EXPECT_EQ(mxgpu::getSharedBits(type, form.padded), info.smemBits);
      ++count;
    }
  EXPECT_EQ(count, size_t(std::distance(target::getOperandForms().begin(),
                                        target::getOperandForms().end())));
}

} // namespace
