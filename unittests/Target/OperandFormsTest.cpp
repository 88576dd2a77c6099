//===- OperandFormsTest.cpp - Table of operand forms ----------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares the table with the rules of the MMA instructions, the rules of
// tensor maps, and the page of the documentation that shows the table.
//===----------------------------------------------------------------------===//

#include "mx/Target/OperandForms.h"
#include "mx/Target/TensorMap.h"
#include "gtest/gtest.h"
#include <fstream>
#include <sstream>

using namespace mx;
using namespace mx::target;

namespace {

constexpr MmaType kNarrow[] = {MmaType::E4M3, MmaType::E5M2, MmaType::E2M3,
                               MmaType::E3M2, MmaType::E2M1};

/// Returns the tensor map type that copies elements of `form` to shared memory.
const TensorMapTypeInfo &getMapInfo(const OperandForm &form) {
  TensorMapType type = getBits(form.type) == 8   ? TensorMapType::U8
                       : getBits(form.type) == 6 ? TensorMapType::U6Align16
                       : form.padded             ? TensorMapType::U4Align16
                                                 : TensorMapType::U4Align8;
  return getInfo(type);
}

/// Describes a matrix of the form with rows of `k` elements.
TensorMapDesc describe(const OperandForm &form, uint64_t k, uint64_t address) {
  const TensorMapTypeInfo &info = getMapInfo(form);
  TensorMapDesc desc;
  desc.type = info.type;
  desc.rank = 2;
  desc.globalAddress = address;
  desc.dims = {k, 128};
  desc.strides = {k * info.bits / 8};
  desc.box = {info.smemBits == 4 ? 256u : 128u, 128};
  desc.swizzle = Swizzle::B128;
  return desc;
}

TEST(OperandForms, EveryOperandHasAForm) {
  size_t count = 0;
  for (MmaKind kind : {MmaKind::MXF8F6F4, MmaKind::MXF4, MmaKind::MXF4NVF4})
    for (MmaType type : kNarrow)
      if (checkMmaTypes(kind, type, type, AccumulatorType::F32).empty()) {
        const OperandForm &form = getOperandForm(kind, type);
        // Every instruction reads 32 bytes of each row, whatever its K.
        EXPECT_EQ(getInfo(kind).k * getMapInfo(form).smemBits / 8, kMmaKBytes);
        ++count;
      }
  EXPECT_EQ(count, size_t(std::distance(getOperandForms().begin(),
                                        getOperandForms().end())));
}

/// The driver accepts these multiples and alignments, and no smaller values.
TEST(OperandForms, MultiplesMatchTensorMaps) {
  for (const OperandForm &form : getOperandForms()) {
    uint64_t multiple = form.repacked ? 128 : form.rowMultiple;
    uint64_t alignment = form.repacked ? 32 : form.alignment;
    for (uint64_t k = multiple; k < 1024; k += multiple)
      EXPECT_EQ(check(describe(form, k, alignment)), "");
    EXPECT_NE(check(describe(form, 1024 + multiple / 2, alignment)), "");
    EXPECT_NE(check(describe(form, 1024, alignment / 2)), "");
  }
}

TEST(OperandForms, MmasTakeTheFastestKind) {
  for (MmaType a : kNarrow)
    for (MmaType b : kNarrow) {
      auto mma = lookupMma(kTcgen05BlockScaled, a, b, 32, FloatFormat::E8M0);
      ASSERT_TRUE(mma);
      bool isFour = a == MmaType::E2M1 && b == MmaType::E2M1;
      EXPECT_EQ(mma->kind, isFour ? MmaKind::MXF4 : MmaKind::MXF8F6F4);
      bool hasFour = a == MmaType::E2M1 || b == MmaType::E2M1;
      EXPECT_EQ(mma->reductionMultiple, isFour ? 64u : hasFour ? 128u : 32u);
      EXPECT_EQ(lookupMma(kTcgen05BlockScaled, a, b, 16, FloatFormat::UE4M3)
                    .has_value(),
                isFour);
    }
}

TEST(OperandForms, BF16IsMultipliedByConvertedOperands) {
  for (MmaType b : kNarrow)
    for (auto [instruction, name] :
         {std::pair(&kTcgen05F16, "kind::f16"),
          std::pair(&kWgmmaBF16, "wgmma.mma_async")}) {
      auto mma =
          lookupMma(*instruction, MmaType::BF16, b, 32, FloatFormat::E8M0);
      ASSERT_TRUE(mma);
      EXPECT_EQ(mma->describeInstruction(), name);
      EXPECT_EQ(mma->getK(), 16u);
      EXPECT_EQ(mma->a->type, MmaType::BF16);
      EXPECT_FALSE(mma->b->padded || mma->b->repacked);
      EXPECT_EQ(mma->reductionMultiple, 32u);
      EXPECT_EQ(
          lookupMma(*instruction, MmaType::BF16, b, 16, FloatFormat::UE4M3)
              .has_value(),
          b == MmaType::E2M1);
    }
}

TEST(OperandForms, ThePageShowsTheTable) {
  std::ifstream file(MX_FORMATS_PAGE);
  std::stringstream page;
  page << file.rdbuf();
  ASSERT_FALSE(page.str().empty());
  for (const OperandForm &form : getOperandForms()) {
    std::stringstream row;
    row << "| " << getInfo(form.kind).name << " | " << getName(form.type)
        << " | " << getMapInfo(form).name
        << (form.repacked ? ", packed by a kernel" : "") << " | "
        << (form.padded ? "16 in 16 bytes" : "dense") << " | "
        << form.rowMultiple << " | " << form.alignment << " |\n";
    EXPECT_NE(page.str().find(row.str()), std::string::npos) << row.str();
  }
  // MMAs by operand width.
  auto width = [](MmaType type) {
    return type == MmaType::E2M1 ? "e2m1" : "8 or 6 bits";
  };
  for (MmaType a : kNarrow)
    for (MmaType b : kNarrow)
      for (auto [block, format] : {std::pair(32u, FloatFormat::E8M0),
                                   std::pair(16u, FloatFormat::UE4M3)}) {
        auto mma = lookupMma(kTcgen05BlockScaled, a, b, block, format);
        if (!mma)
          continue;
        std::stringstream row;
        row << "| " << width(a) << " | " << width(b) << " | "
            << getInfo(format).name << ", blocks of " << block << " | "
            << getInfo(mma->kind).name << " | " << getInfo(mma->kind).k << " | "
            << mma->reductionMultiple << " |\n";
        EXPECT_NE(page.str().find(row.str()), std::string::npos) << row.str();
      }
}

} // namespace
