//===- MmaShapesTest.cpp - Legal MMAs and tensor-memory columns -----------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// Compares the legal shapes for all M and N with a second definition, which
// follows the text of the PTX ISA.
//===----------------------------------------------------------------------===//

#include "mx/Target/MmaShapes.h"
#include "gtest/gtest.h"
#include <set>
#include <tuple>

using namespace mx;
using namespace mx::target;

namespace {

constexpr MmaKind kAll[] = {
    MmaKind::F16,      MmaKind::TF32, MmaKind::F8F6F4,  MmaKind::I8,
    MmaKind::MXF8F6F4, MmaKind::MXF4, MmaKind::MXF4NVF4};

bool legalByTheManual(MmaKind kind, unsigned group, unsigned m, unsigned n) {
  if (n < 8 || n > 256)
    return false;
  bool scaled = kind >= MmaKind::MXF8F6F4;
  bool rows =
      group == 1 ? m == 128 || (m == 64 && !scaled) : m == 128 || m == 256;
  if (!rows)
    return false;
  if (kind == MmaKind::I8)
    return group == 2 ? n % 32 == 0 : n <= 32 ? n % 8 == 0 : n % 16 == 0;
  return n % (8 * group) == 0;
}

TEST(MmaShapes, ShapesOfAllKinds) {
  for (MmaKind kind : kAll)
    for (unsigned group : {1u, 2u})
      for (unsigned m = 0; m <= 512; m += 16)
        for (unsigned n = 0; n <= 520; ++n)
          EXPECT_EQ(checkMmaShape(kind, group, m, n).empty(),
                    legalByTheManual(kind, group, m, n))
              << getInfo(kind).name << " " << group << " " << m << " " << n;
}

TEST(MmaShapes, PreferredStepsAreLegalAndConservative) {
  for (const MmaShapeRule &rule : getShapeRules()) {
    EXPECT_EQ(rule.nStepPreferred % rule.nStep, 0u);
    EXPECT_EQ(rule.nStepPreferred, rule.ctaGroup == 2                 ? 32u
                                   : rule.m == 128 || rule.nMin == 48 ? 16u
                                                                      : 8u);
  }
}

TEST(MmaShapes, MessagesGiveExpectedAndFound) {
  EXPECT_EQ(checkMmaShape(MmaKind::MXF8F6F4, 1, 64, 128),
            "expected M = 128 with kind::mxf8f6f4 and cta_group::1, found 64");
  EXPECT_EQ(checkMmaShape(MmaKind::MXF8F6F4, 2, 64, 128),
            "expected M = 128 or 256 with kind::mxf8f6f4 and cta_group::2, "
            "found 64");
  EXPECT_EQ(checkMmaShape(MmaKind::F16, 1, 128, 260),
            "expected N = 8 to 256 in steps of 8 with kind::f16 and "
            "cta_group::1 and M = 128, found 260");
  EXPECT_EQ(checkMmaShape(MmaKind::I8, 1, 64, 40),
            "expected N = 8 to 32 in steps of 8 or 48 to 256 in steps of 16 "
            "with kind::i8 and cta_group::1 and M = 64, found 40");
  EXPECT_EQ(checkMmaShape(MmaKind::F16, 3, 128, 128),
            "expected cta_group 1 or 2, found 3");
  EXPECT_EQ(checkTransposedB8(1, 16), "");
  EXPECT_EQ(checkTransposedB8(2, 48),
            "expected N = 32 to 256 in steps of 32 with MN-major 8-bit B and "
            "cta_group::2, found 48");
}

TEST(MmaShapes, KOfEveryKindIs32Bytes) {
  struct {
    MmaKind kind;
    unsigned k, bits;
  } cases[] = {{MmaKind::F16, 16, 16},     {MmaKind::TF32, 8, 32},
               {MmaKind::F8F6F4, 32, 8},   {MmaKind::I8, 32, 8},
               {MmaKind::MXF8F6F4, 32, 8}, {MmaKind::MXF4, 64, 4},
               {MmaKind::MXF4NVF4, 64, 4}};
  for (auto c : cases) {
    EXPECT_EQ(getInfo(c.kind).k, c.k);
    EXPECT_EQ(c.k * c.bits / 8, kMmaKBytes);
    EXPECT_EQ(getInfo(c.kind).kind, c.kind);
  }
}

TEST(MmaShapes, TypesOfAllKinds) {
  std::set<MmaType> narrow = {MmaType::E4M3, MmaType::E5M2, MmaType::E2M3,
                              MmaType::E3M2, MmaType::E2M1};
  for (MmaKind kind : kAll)
    for (unsigned a = 0; a < kNumMmaTypes; ++a)
      for (unsigned b = 0; b < kNumMmaTypes; ++b)
        for (unsigned d = 0; d < 3; ++d) {
          auto ta = MmaType(a), tb = MmaType(b);
          auto td = AccumulatorType(d);
          bool bf16 = ta == MmaType::BF16 || tb == MmaType::BF16;
          auto both = [&](auto pred) { return pred(ta) && pred(tb); };
          bool legal = false;
          switch (kind) {
          case MmaKind::F16:
            legal = both([](MmaType t) { return t <= MmaType::BF16; }) &&
                    (td == AccumulatorType::F32 ||
                     (td == AccumulatorType::F16 && !bf16));
            break;
          case MmaKind::TF32:
            legal = both([](MmaType t) { return t == MmaType::TF32; }) &&
                    td == AccumulatorType::F32;
            break;
          case MmaKind::F8F6F4:
            legal = both([&](MmaType t) { return narrow.count(t); }) &&
                    td != AccumulatorType::S32;
            break;
          case MmaKind::I8:
            legal = both([](MmaType t) { return t >= MmaType::U8; }) &&
                    td == AccumulatorType::S32;
            break;
          case MmaKind::MXF8F6F4:
            legal = both([&](MmaType t) { return narrow.count(t); }) &&
                    td == AccumulatorType::F32;
            break;
          case MmaKind::MXF4:
          case MmaKind::MXF4NVF4:
            legal = both([](MmaType t) { return t == MmaType::E2M1; }) &&
                    td == AccumulatorType::F32;
            break;
          }
          EXPECT_EQ(checkMmaTypes(kind, ta, tb, td).empty(), legal)
              << getInfo(kind).name << " " << getName(ta) << " " << getName(tb)
              << " " << getName(td);
        }
  EXPECT_EQ(checkMmaTypes(MmaKind::MXF4, MmaType::E2M1, MmaType::E4M3,
                          AccumulatorType::F32),
            "expected B of kind::mxf4 to be one of e2m1, found e4m3");
  EXPECT_EQ(checkMmaTypes(MmaKind::F16, MmaType::BF16, MmaType::BF16,
                          AccumulatorType::F16),
            "expected D of kind::f16 with bf16 and bf16 to be one of f32, "
            "found f16");
}

TEST(MmaShapes, TypesComeFromFormats) {
  EXPECT_EQ(getMmaType(FloatFormat::E4M3), MmaType::E4M3);
  EXPECT_EQ(getMmaType(FloatFormat::BF16), MmaType::BF16);
  EXPECT_FALSE(getMmaType(FloatFormat::E8M0));
  EXPECT_FALSE(getMmaType(FloatFormat::UE4M3));
  for (unsigned f = 0; f < kNumFloatFormats; ++f)
    if (std::optional<MmaType> type = getMmaType(FloatFormat(f))) {
      EXPECT_STREQ(getName(*type), getInfo(FloatFormat(f)).name);
      EXPECT_EQ(getBits(*type), getInfo(FloatFormat(f)).bits);
    }
}

TEST(MmaShapes, KindsOfChips) {
  const TargetInfo &family = *lookupTarget("sm_100f");
  EXPECT_EQ(checkMmaKind(*lookupTarget("sm_100a"), MmaKind::I8), "");
  EXPECT_EQ(checkMmaKind(family, MmaKind::I8),
            "chip 'sm_100f' has no kind::i8");
  EXPECT_EQ(checkMmaKind(family, MmaKind::MXF4NVF4), "");
  EXPECT_NE(checkMmaKind(*lookupTarget("sm_90a"), MmaKind::MXF8F6F4), "");
}

TEST(MmaShapes, ScaleVectors) {
  struct {
    MmaKind kind;
    unsigned block;
    FloatFormat format;
    std::set<unsigned> ids;
    const char *qualifier;
  } legal[] = {
      {MmaKind::MXF8F6F4, 32, FloatFormat::E8M0, {0, 1, 2, 3}, ".block32"},
      {MmaKind::MXF4, 32, FloatFormat::E8M0, {0, 2}, ".block32"},
      {MmaKind::MXF4NVF4, 32, FloatFormat::E8M0, {0, 2}, ".block32"},
      {MmaKind::MXF4NVF4, 16, FloatFormat::E8M0, {0}, ".block16"},
      {MmaKind::MXF4NVF4, 16, FloatFormat::UE4M3, {0}, ".block16"}};
  std::set<std::tuple<MmaKind, unsigned, FloatFormat>> known;
  for (const auto &c : legal) {
    std::string error;
    const ScaleVectorRule *rule =
        lookupScaleVector(c.kind, c.block, c.format, error);
    ASSERT_TRUE(rule) << error;
    known.insert({c.kind, c.block, c.format});
    EXPECT_EQ(rule->scaleIdStep * rule->blockSize, getInfo(c.kind).k);
    EXPECT_STREQ(rule->block, c.qualifier);
    for (unsigned id = 0; id < 8; ++id)
      EXPECT_EQ(checkScaleId(*rule, id).empty(), c.ids.count(id) != 0) << id;
  }
  EXPECT_EQ(size_t(std::distance(getScaleVectorRules().begin(),
                                 getScaleVectorRules().end())),
            known.size());
  for (MmaKind kind : kAll)
    for (unsigned block : {0u, 8u, 16u, 32u, 64u})
      for (FloatFormat format : {FloatFormat::UE4M3, FloatFormat::E8M0}) {
        std::string error;
        EXPECT_EQ(lookupScaleVector(kind, block, format, error) != nullptr,
                  known.count({kind, block, format}) != 0);
      }
  std::string error;
  lookupScaleVector(MmaKind::MXF4, 16, FloatFormat::UE4M3, error);
  EXPECT_EQ(error, "expected scales of kind::mxf4 to be one of 32 x ue8m0, "
                   "found 16 x ue4m3");
  lookupScaleVector(MmaKind::F16, 32, FloatFormat::E8M0, error);
  EXPECT_EQ(error, "kind::f16 takes no scales");
  EXPECT_EQ(checkScaleId(getScaleVectorRules().begin()[1], 1),
            "expected scale id 0, 2 with kind::mxf4.block32, found 1");
}

TEST(MmaShapes, SelectsTheFastestKind) {
  auto e2m1 = MmaType::E2M1, e4m3 = MmaType::E4M3;
  auto ue8m0 = FloatFormat::E8M0, ue4m3 = FloatFormat::UE4M3;
  EXPECT_EQ(selectBlockScaledKind(e2m1, e2m1, 32, ue8m0), MmaKind::MXF4);
  EXPECT_EQ(selectBlockScaledKind(e2m1, e2m1, 16, ue4m3), MmaKind::MXF4NVF4);
  EXPECT_EQ(selectBlockScaledKind(e4m3, e2m1, 32, ue8m0), MmaKind::MXF8F6F4);
  EXPECT_EQ(selectBlockScaledKind(e4m3, e4m3, 16, ue4m3), std::nullopt);
  EXPECT_EQ(selectBlockScaledKind(MmaType::BF16, MmaType::BF16, 32, ue8m0),
            std::nullopt);
}

TEST(MmaShapes, ColumnsOfAccumulators) {
  EXPECT_EQ(accumulatorColumns(1, 128, 256), 256u);
  EXPECT_EQ(accumulatorColumns(1, 64, 128), 128u);
  EXPECT_EQ(accumulatorColumns(2, 256, 192), 192u);
  EXPECT_EQ(accumulatorColumns(2, 128, 256), 128u);
}

TEST(MmaShapes, ColumnsOfScales) {
  EXPECT_EQ(scaleAColumns(1, 128), 4u);
  EXPECT_EQ(scaleAColumns(2, 256), 4u);
  EXPECT_EQ(scaleAColumns(2, 128), 2u);
  EXPECT_EQ(scaleBColumns(1, 128, 128), 4u);
  EXPECT_EQ(scaleBColumns(1, 128, 256), 8u);
  EXPECT_EQ(scaleBColumns(1, 128, 8), 4u);
  EXPECT_EQ(scaleBColumns(2, 256, 192), 8u);
  EXPECT_EQ(scaleBColumns(2, 128, 256), 4u);
}

} // namespace
