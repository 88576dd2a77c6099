//===- SimulatorAgreementTest.cpp - Encoders against decoders -------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The compiler's encoders and the simulator's decoders are written
// independently, so that neither repeats an error of the other. Decoding must
// invert encoding for every field, and the simulator must accept every tensor
// map that the compiler accepts.
//===----------------------------------------------------------------------===//

#include "RandomDescriptor.h"
#include "mx/Support/ExitStatus.h"
#include "mx/Support/FloatFormats.h"
#include "mx/Target/Descriptors.h"
#include "mx/Target/TensorMap.h"
#include "mxsim/ExitStatus.h"
#include "mxsim/tensor/Descriptors.h"
#include "mxsim/tensor/NumberFormats.h"
#include "mxsim/tensor/TensorMap.h"
#include "gtest/gtest.h"
#include <random>

using namespace mx;
using namespace mx::target;

namespace {

static_assert(int(kExitClean) == sim::kExitClean &&
              int(kExitFault) == sim::kExitFault &&
              int(kExitBadInput) == sim::kExitBadInput &&
              int(kExitDeadlock) == sim::kExitDeadlock);

TEST(SimulatorAgreement, DecodesAllCodes) {
  for (unsigned format = 0; format < kNumFloatFormats; ++format)
    for (uint32_t code = 0; code < 0x10000; ++code)
      ASSERT_EQ(sim::bitsOf(sim::decode(sim::FloatFormat(format), code)),
                bitsOf(decode(FloatFormat(format), code)))
          << getInfo(FloatFormat(format)).name << " " << code;
}

void expectSameCodes(double value) {
  for (unsigned format = 0; format < kNumFloatFormats; ++format)
    ASSERT_EQ(sim::encodeF64(sim::FloatFormat(format), value),
              encodeF64(FloatFormat(format), value))
        << getInfo(FloatFormat(format)).name << " " << value;
}

// Tests the values of codes, the midpoints between adjacent values, and the
// doubles next to each of them.
TEST(SimulatorAgreement, EncodesAroundCodes) {
  for (unsigned format = 0; format < kNumFloatFormats; ++format)
    for (uint32_t code = 0; code < 0x10000; code += code < 0x200 ? 1 : 13) {
      double value = widenF32(decode(FloatFormat(format), code));
      double next = widenF32(decode(FloatFormat(format), code + 1));
      for (double middle : {value, value / 2 + next / 2})
        for (int step = -1; step <= 1; ++step)
          expectSameCodes(doubleFromBits(bitsOf(middle) + step));
    }
}

TEST(SimulatorAgreement, EncodesRandomNumbers) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 300000; ++i) {
    expectSameCodes(doubleFromBits(engine()));
    float value = floatFromBits(uint32_t(engine()));
    for (unsigned format = 0; format < kNumFloatFormats; ++format)
      ASSERT_EQ(sim::encode(sim::FloatFormat(format), value),
                encode(FloatFormat(format), value));
    for (bool saturate : {false, true}) {
      ASSERT_EQ(sim::encodeE8M0Up(value, saturate),
                encodeE8M0Up(value, saturate));
      ASSERT_EQ(sim::encodeE8M0Down(value, saturate),
                encodeE8M0Down(value, saturate));
    }
    ASSERT_EQ(sim::bitsOf(sim::widenF32(value)), bitsOf(widenF32(value)));
  }
}

TEST(SimulatorAgreement, Swizzles) {
  for (unsigned i = 0; i < kNumSwizzles; ++i)
    for (uint32_t address = 0; address < 4096; ++address)
      ASSERT_EQ(swizzleAddress(Swizzle(i), address),
                sim::swizzleAddress(sim::TmapSwizzle(i), address));
}

TEST(SimulatorAgreement, MatrixDescriptors) {
  constexpr Swizzle swizzles[] = {Swizzle::None, Swizzle::B32, Swizzle::B64,
                                  Swizzle::B128, Swizzle::B128Atom32};
  std::mt19937 engine(1);
  for (int i = 0; i < 20000; ++i) {
    SmemDescriptor desc;
    desc.swizzle = swizzles[engine() % 5];
    desc.address = engine() % 0x4000 * 16;
    desc.leadingByteOffset = engine() % 0x4000 * 16;
    desc.strideByteOffset = engine() % 0x4000 * 16;
    // The pattern begins at the start address, aligned or not.
    if (desc.swizzle != Swizzle::None)
      desc.baseOffset = desc.address >> 7 & 7;
    sim::SmemDesc decoded;
    sim::Fault fault = sim::decodeSmemDesc(encode(desc), decoded);
    ASSERT_FALSE(fault) << fault.message;
    EXPECT_EQ(decoded.start, desc.address);
    EXPECT_EQ(decoded.leadingOffset, desc.leadingByteOffset);
    EXPECT_EQ(decoded.strideOffset, desc.strideByteOffset);
    EXPECT_EQ(decoded.baseOffset, desc.baseOffset);
    EXPECT_EQ(decoded.span(), getInfo(desc.swizzle).span);
    for (uint32_t address = 0; address < 4096; address += 48)
      ASSERT_EQ(decoded.swizzle(address),
                swizzleAddress(desc.swizzle, address, desc.baseOffset));
  }
}

// A K-major descriptor reads the data that TMA writes with the same swizzle.
TEST(SimulatorAgreement, KMajorOperands) {
  for (Swizzle swizzle : {Swizzle::B32, Swizzle::B64, Swizzle::B128}) {
    uint32_t span = getInfo(swizzle).span;
    for (uint32_t k = 0; k < span; k += kMmaKBytes) {
      SmemDescriptor desc = kMajorDescriptor(swizzle);
      desc.address = 2048;
      sim::SmemDesc decoded;
      uint64_t word = encode(desc) + k / kDescriptorUnit;
      ASSERT_FALSE(sim::decodeSmemDesc(word, decoded));
      for (unsigned row = 0; row < 256; ++row)
        for (unsigned byte = 0; byte < kMmaKBytes; ++byte)
          ASSERT_EQ(decoded.kMajor(row, byte),
                    swizzleAddress(swizzle, 2048 + row * span + k + byte));
    }
  }
}

sim::ScaleVec scaleVec(const InstrDescriptor &desc) {
  std::string error;
  const ScaleVectorRule *rule =
      lookupScaleVector(desc.kind, desc.blockSize, desc.scaleFormat, error);
  if (!rule)
    return sim::ScaleVec::Default;
  sim::ScaleVec vec;
  EXPECT_TRUE(sim::parseScaleVec(rule->block + 1,
                                 sim::MmaKind(unsigned(desc.kind)), vec));
  return vec;
}

TEST(SimulatorAgreement, InstructionDescriptors) {
  std::mt19937 engine(2);
  unsigned legal = 0;
  for (int i = 0; i < 2000000; ++i) {
    InstrDescriptor desc = randomDescriptor(engine);
    if (!check(desc).empty())
      continue;
    ++legal;
    auto kind = sim::MmaKind(unsigned(desc.kind));
    ASSERT_EQ(sim::name(kind), getInfo(desc.kind).name);
    sim::InstrDesc decoded;
    sim::Fault fault = sim::decodeInstrDesc(encode(desc), kind, desc.ctaGroup,
                                            scaleVec(desc), decoded);
    ASSERT_FALSE(fault) << fault.message;
    EXPECT_EQ(decoded.m, desc.m);
    EXPECT_EQ(decoded.n, desc.n);
    EXPECT_EQ(decoded.k, getInfo(desc.kind).k);
    EXPECT_EQ(sim::name(decoded.a), getName(desc.a));
    EXPECT_EQ(sim::name(decoded.b), getName(desc.b));
    EXPECT_EQ(unsigned(decoded.d), unsigned(desc.d));
    EXPECT_EQ(decoded.negateA, desc.negateA);
    EXPECT_EQ(decoded.negateB, desc.negateB);
    EXPECT_EQ(decoded.transposeA, desc.transposeA);
    EXPECT_EQ(decoded.transposeB, desc.transposeB);
    EXPECT_EQ(decoded.saturate, desc.saturate);
    if (!getInfo(desc.kind).blockScaled)
      continue;
    EXPECT_EQ(unsigned(decoded.scale), desc.scaleFormat == FloatFormat::E8M0);
    EXPECT_EQ(decoded.scaleIdA, desc.scaleIdA);
    EXPECT_EQ(decoded.scaleIdB, desc.scaleIdB);
    EXPECT_EQ(decoded.scaleBlocks * desc.blockSize, decoded.k);
  }
  EXPECT_GT(legal, 3000u);
}

/// Returns a map close to a valid map, with some arguments that break a rule.
target::TensorMapDesc randomMap(std::mt19937_64 &engine) {
  auto below = [&](uint64_t n) { return engine() % n; };
  target::TensorMapDesc desc;
  desc.type = TensorMapType(below(kNumTensorMapTypes));
  desc.rank = unsigned(1 + below(5));
  if (below(4) == 0)
    desc.interleave = TensorMapInterleave(below(3));
  desc.swizzle = Swizzle(below(kNumSwizzles));
  desc.l2 = TensorMapL2(below(4));
  desc.fill = TensorMapFill(below(4) == 0);
  desc.globalAddress = 16 * below(64);
  bool padded = desc.type >= TensorMapType::U4Align16;
  uint32_t chunk = padded ? 128 : 128 / getInfo(desc.type).bits;
  for (unsigned i = 0; i < desc.rank; ++i) {
    desc.dims[i] = 1 + below(below(8) ? 500 : uint64_t(1) << 33);
    desc.box[i] = uint32_t(1 + below(below(3) ? 8 : 260));
    desc.elementStrides[i] = uint32_t(below(3) ? 1 : 1 + below(9));
    if (i != 0)
      desc.strides[i - 1] = 16 * below(below(8) ? 4096 : uint64_t(1) << 37);
  }
  desc.dims[0] = below(3) ? chunk * (1 + below(8)) : desc.dims[0];
  desc.box[0] = below(3) ? chunk : desc.box[0];
  return desc;
}

TEST(SimulatorAgreement, TensorMaps) {
  std::mt19937_64 engine(3);
  unsigned good = 0;
  for (int i = 0; i < 300000; ++i) {
    target::TensorMapDesc desc = randomMap(engine);
    if (!check(desc).empty())
      continue;
    ++good;
    sim::TensorMapDesc map;
    map.globalAddress = desc.globalAddress;
    map.type = sim::TmapType(unsigned(desc.type));
    map.rank = desc.rank;
    map.dims = desc.dims;
    map.strides = desc.strides;
    map.box = desc.box;
    map.elementStrides = desc.elementStrides;
    map.interleave = sim::TmapInterleave(unsigned(desc.interleave));
    map.swizzle = sim::TmapSwizzle(unsigned(desc.swizzle));
    map.l2 = sim::TmapL2(unsigned(desc.l2));
    map.oob = sim::TmapOob(unsigned(desc.fill));
    ASSERT_EQ(sim::validate(map), "");
    ASSERT_EQ(sim::name(map.type), getInfo(desc.type).name);
    ASSERT_EQ(sim::name(map.swizzle), getInfo(desc.swizzle).name);
    ASSERT_EQ(sim::name(map.interleave), getName(desc.interleave));
    ASSERT_EQ(sim::swizzleSpan(map.swizzle), getInfo(desc.swizzle).span);
    for (unsigned d = 0; d < desc.rank; ++d)
      ASSERT_EQ(sim::boxElements(map, d), boxElements(desc, d));
  }
  EXPECT_GT(good, 3000u);
}

} // namespace
