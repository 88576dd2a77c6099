//===- BlockFormatTest.cpp - Table of block-scaled formats ----------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "mx/BlockFormats/BlockFormat.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mx;

namespace {

struct BlockFormats : testing::Test {
  MLIRContext context;
  Type powers = Float8E8M0FNUType::get(&context),
       e4m3 = Float8E4M3FNType::get(&context),
       e2m1 = Float4E2M1FNType::get(&context),
       i8 = IntegerType::get(&context, 8);
};

TEST_F(BlockFormats, AreFoundByTheTypeOfScales) {
  const BlockFormat *mx = findBlockFormat(powers), *nv = findBlockFormat(e4m3);
  ASSERT_TRUE(mx && nv);
  EXPECT_EQ(mx->blockSize, 32);
  EXPECT_EQ(nv->blockSize, 16);
  EXPECT_FALSE(mx->hasTensorFactor);
  EXPECT_TRUE(nv->hasTensorFactor);
  EXPECT_EQ(mx, &getPowerOfTwoFormat());
  EXPECT_TRUE(isPowerOfTwoScale(powers));
  EXPECT_FALSE(isPowerOfTwoScale(e4m3));
  EXPECT_FALSE(isPowerOfTwoScale({}));
  for (Type other : {e2m1, i8, Type(Float64Type::get(&context))})
    EXPECT_FALSE(findBlockFormat(other));
}

TEST_F(BlockFormats, GiveTheTypeOfScalesBack) {
  for (const BlockFormat &format : getBlockFormats()) {
    BlockShape shape(format.blockSize, format.blockRows);
    EXPECT_EQ(findBlockFormat(format.getScaleType(&context), shape), &format);
    EXPECT_EQ(findBlockFormat(shape)->blockSize, format.blockSize);
  }
  EXPECT_FALSE(findBlockFormat(BlockShape(64)));
}

TEST_F(BlockFormats, SayWhichElementsTheyTake) {
  const BlockFormat &mx = getBlockFormat(powers), &nv = getBlockFormat(e4m3);
  for (Type type : {e4m3, Type(Float8E5M2Type::get(&context)),
                    Type(Float6E3M2FNType::get(&context)),
                    Type(Float6E2M3FNType::get(&context)), e2m1, i8})
    EXPECT_TRUE(mx.takes(type));
  EXPECT_TRUE(nv.takes(e2m1));
  EXPECT_FALSE(nv.takes(e4m3));
  EXPECT_FALSE(nv.takes(i8));
  for (Type type : {Type(BFloat16Type::get(&context)), powers,
                    Type(IntegerType::get(&context, 8, IntegerType::Unsigned))})
    EXPECT_FALSE(mx.takes(type));
}

TEST_F(BlockFormats, AreListedForMessages) {
  EXPECT_EQ(listScaleTypes(), "f8E8M0FNU, f8E4M3FN or f32");
  EXPECT_EQ(getBlockFormat(e4m3).listElements(), "f4E2M1FN");
  EXPECT_EQ(getBlockFormat(powers).listElements(),
            "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN, f4E2M1FN or i8");
  EXPECT_EQ(getBlockFormat(powers).listElements(/*withIntegers=*/false),
            "f8E4M3FN, f8E5M2, f6E3M2FN, f6E2M3FN or f4E2M1FN");
}

} // namespace
