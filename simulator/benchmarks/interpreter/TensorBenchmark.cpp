//===- TensorBenchmark.cpp - Speed of simulated engines -------------------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An MMA, a scale copy and a tile load take most of the time of a simulated
// GEMM. items_per_second of the MMAs counts multiply-adds.
//===----------------------------------------------------------------------===//

#include "mxsim/tensor/NumberFormats.h"
#include "mxsim/tensor/Tcgen05.h"
#include "mxsim/tensor/Tma.h"

#include <benchmark/benchmark.h>
#include <random>
#include <vector>

using namespace mx::sim;

namespace {

constexpr uint32_t sharedBytes = 228 << 10;
constexpr unsigned m = 128, n = 256;

uint64_t swizzled128(uint32_t start) {
  return uint64_t{start >> 4} | uint64_t{1024 >> 4} << 32 | uint64_t{1} << 46 |
         uint64_t{2} << 61;
}

/// A CTA with random operands A at 0 and B at 64 KiB, scales around one in
/// columns 256 to 271, and an accumulator in columns 0 to 255.
struct Cta {
  std::vector<uint8_t> shared;
  TensorMemory tensor;
  CtaView view;

  explicit Cta(uint8_t mask, uint32_t scales = 0x7F7E807Fu)
      : shared(sharedBytes) {
    std::mt19937 random(1);
    for (uint8_t &byte : shared)
      byte = static_cast<uint8_t>(random()) & mask;
    view.shared = {shared.data(), sharedBytes, nullptr};
    view.tensor = &tensor;
    (void)tensor.allocate(0, 512);
    for (unsigned lane = 0; lane < tmemLanes; ++lane) {
      tensor.define(lane, 0, tmemColumns);
      for (unsigned c = 256; c < 272; ++c)
        tensor.row(lane)[c] = scales;
    }
  }
};

void runMma(benchmark::State &state, Cta &cta, MmaKind kind, ScaleVec vec,
            uint32_t idesc, unsigned k, Numerics numerics = Numerics::Exact) {
  MmaOp op;
  op.kind = kind;
  op.scaleVec = vec;
  op.idesc = idesc;
  op.aDesc = swizzled128(0);
  op.bDesc = swizzled128(64 << 10);
  op.scaleA = 256;
  op.scaleB = 260;
  for (auto _ : state) {
    op.enableInputD = !op.enableInputD;
    Fault fault = mma(op, &cta.view, numerics);
    if (fault)
      state.SkipWithError(fault.message.c_str());
  }
  state.SetItemsProcessed(state.iterations() * int64_t{m} * n * k);
}

void mmaMxf8(benchmark::State &state) {
  Cta cta(0xBF); // E4M3 without the NaN code
  runMma(state, cta, MmaKind::MXF8F6F4, ScaleVec::Default, 0x08C00000u, 32);
}
BENCHMARK(mmaMxf8);

void mmaMxf8Truncate25(benchmark::State &state) {
  Cta cta(0xBF);
  runMma(state, cta, MmaKind::MXF8F6F4, ScaleVec::Default, 0x08C00000u, 32,
         Numerics::Truncate25);
}
BENCHMARK(mmaMxf8Truncate25);

void mmaMxf8E5M2(benchmark::State &state) {
  Cta cta(0xBF);
  runMma(state, cta, MmaKind::MXF8F6F4, ScaleVec::Default, 0x08C00480u, 32);
}
BENCHMARK(mmaMxf8E5M2);

void mmaNvf4(benchmark::State &state) {
  Cta cta(0xFF, 0x38303A44u);
  runMma(state, cta, MmaKind::MXF4NVF4, ScaleVec::X4,
         0x08000000u | 32u << 17 | 1u << 7 | 1u << 10, 64);
}
BENCHMARK(mmaNvf4);

void mmaBf16(benchmark::State &state) {
  Cta cta(0xFF);
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  for (size_t i = 0; i < cta.shared.size(); i += 2) {
    uint32_t bits = bitsOf(normal(random));
    cta.shared[i] = static_cast<uint8_t>(bits >> 16);
    cta.shared[i + 1] = static_cast<uint8_t>(bits >> 24);
  }
  runMma(state, cta, MmaKind::F16, ScaleVec::Default, 0x08400490u, 16);
}
BENCHMARK(mmaBf16);

// Exponents over the full range: sums exceed the precision of doubles.
void mmaBf16Wild(benchmark::State &state) {
  Cta cta(0xBF);
  runMma(state, cta, MmaKind::F16, ScaleVec::Default, 0x08400490u, 16);
}
BENCHMARK(mmaBf16Wild);

void scaleCopy(benchmark::State &state) {
  Cta cta(0xFF);
  CpOp op;
  op.shape = CpShape::L32x128b;
  op.multicast = CpMulticast::Warpx4;
  op.address = 256;
  op.desc = uint64_t{128 >> 4} << 32 | uint64_t{1} << 46;
  for (auto _ : state)
    if (Fault fault = copyToTensor(op, &cta.view))
      state.SkipWithError(fault.message.c_str());
  state.SetBytesProcessed(state.iterations() * 512);
}
BENCHMARK(scaleCopy);

class Flat : public GlobalAccess {
public:
  std::vector<uint8_t> bytes = std::vector<uint8_t>(1 << 22);
  uint8_t *translate(uint64_t address, uint64_t size, bool) override {
    return address + size <= bytes.size() ? &bytes[address] : nullptr;
  }
};

void tileLoad(benchmark::State &state) {
  Flat global;
  Cta cta(0xFF);
  TensorMapDesc map;
  map.rank = 2;
  map.dims = {2048, 2048};
  map.strides = {2048};
  map.box = {128, 128};
  map.swizzle = TmapSwizzle::B128;
  int32_t coordinates[2] = {256, 512};
  for (auto _ : state) {
    TmaResult result =
        tmaLoad(map, coordinates, global, cta.view.shared, 32768);
    if (result.fault)
      state.SkipWithError(result.fault.message.c_str());
  }
  state.SetBytesProcessed(state.iterations() * 128 * 128);
}
BENCHMARK(tileLoad);

void accumulatorLoad(benchmark::State &state) {
  Cta cta(0xFF);
  TmemTransfer transfer;
  transfer.repeat = 32;
  std::vector<uint32_t> registers(32 * 32);
  for (auto _ : state)
    if (Fault fault = cta.tensor.load(0, transfer, registers.data()))
      state.SkipWithError(fault.message.c_str());
  state.SetBytesProcessed(state.iterations() * 32 * 32 * 4);
}
BENCHMARK(accumulatorLoad);

} // namespace
