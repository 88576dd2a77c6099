// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Latency between dependent instructions: one warp, one chain. If a line names
// two instructions, they alternate.

#include "common.h"

static constexpr int kRounds = 64, kUnroll = 32;

#define OPERATION(NAME, ...)                                                   \
  struct NAME {                                                                \
    static __device__ void run(uint32_t &x, uint32_t y) { __VA_ARGS__; }       \
  };
#define SIMPLE(NAME, TEXT) OPERATION(NAME, asm volatile(TEXT : "+r"(x) : "r"(y)))

SIMPLE(Add, "add.s32 %0, %0, %1;")
SIMPLE(Mad, "mad.lo.s32 %0, %0, %1, %1;")
SIMPLE(MulHigh, "mul.hi.u32 %0, %0, %1;")
SIMPLE(Logic, "lop3.b32 %0, %0, %1, 0x80008000, 0x6a;")
SIMPLE(Shift, "shf.r.wrap.b32 %0, %0, %1, 4;")
SIMPLE(Permute, "prmt.b32 %0, %0, %1, 0x5140;")
SIMPLE(MinS32, "min.s32 %0, %0, %1;")
SIMPLE(Select, "{\n.reg .pred p;\nsetp.lt.s32 p, %0, %1;\nselp.b32 %0, %1, %0, p;\n}")
SIMPLE(Popc, "popc.b32 %0, %0;")
SIMPLE(Bfind, "bfind.u32 %0, %0;")
SIMPLE(Bfe, "bfe.u32 %0, %0, %1, 7;")
SIMPLE(FmaF32, "fma.rn.f32 %0, %0, %1, %1;")
SIMPLE(AddF32, "add.rn.f32 %0, %0, %1;")
SIMPLE(MaxF32, "max.f32 %0, %0, %1;")
SIMPLE(FmaF16, "fma.rn.f16x2 %0, %0, %1, %1;")
SIMPLE(FmaBF16, "fma.rn.bf16x2 %0, %0, %1, %1;")
SIMPLE(MaxBF16, "max.bf16x2 %0, %0, %1;")
SIMPLE(UnpackE4M3, "{\n.reg .b16 l, h;\nmov.b32 {l, h}, %0;\ncvt.rn.f16x2.e4m3x2 %0, l;\n}")
SIMPLE(PackE4M3, "{\n.reg .b16 l;\ncvt.rn.satfinite.e4m3x2.f32 l, %0, %1;\nmov.b32 %0, {l, l};\n}")
SIMPLE(PackBF16, "cvt.rn.bf16x2.f32 %0, %0, %1;")
SIMPLE(PackF16, "cvt.rn.f16x2.f32 %0, %0, %1;")
SIMPLE(FromHalf, "{\n.reg .b16 l, h;\nmov.b32 {l, h}, %0;\ncvt.f32.f16 %0, l;\n}")
SIMPLE(FromS32, "cvt.rn.f32.s32 %0, %0;")
SIMPLE(ToS32, "cvt.rni.s32.f32 %0, %0;")
SIMPLE(Exp2, "ex2.approx.ftz.f32 %0, %0;")
SIMPLE(Log2, "lg2.approx.ftz.f32 %0, %0;")
SIMPLE(Rsqrt, "rsqrt.approx.ftz.f32 %0, %0;")
SIMPLE(Tanh, "tanh.approx.f32 %0, %0;")
SIMPLE(Exp2BF16, "ex2.approx.ftz.bf16x2 %0, %0;")
SIMPLE(Shuffle, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;")
SIMPLE(Vote, "{\n.reg .pred p;\nsetp.ne.u32 p, %0, %1;\nvote.sync.ballot.b32 %0, p, -1;\n}")
SIMPLE(Redux, "redux.sync.max.s32 %0, %0, -1;")
SIMPLE(Match, "match.any.sync.b32 %0, %0, -1;")
SIMPLE(LaneId, "{\n.reg .u32 t;\nmov.u32 t, %laneid;\nadd.s32 %0, %0, t;\n}")
SIMPLE(DivS32, "div.u32 %0, %0, %1;")
SIMPLE(DivF32, "div.rn.f32 %0, %0, %1;")
OPERATION(Add64, uint64_t z = (uint64_t(x) << 32) | x;
          asm volatile("add.s64 %0, %0, %1;" : "+l"(z) : "l"(uint64_t(y) << 7));
          x = uint32_t(z >> 32))
OPERATION(SyncWarp, asm volatile("bar.warp.sync -1;" ::: "memory"))

template <typename Op, int CHAINS>
__global__ void repeat(long long *cycles, uint32_t *out, uint32_t y) {
  uint32_t x[CHAINS];
  for (int c = 0; c < CHAINS; ++c)
    x[c] = 0x3f803f80 + threadIdx.x + c;
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < kRounds; ++i)
#pragma unroll
    for (int j = 0; j < kUnroll; ++j)
#pragma unroll
      for (int c = 0; c < CHAINS; ++c)
        Op::run(x[c], y);
  long long end = clock64();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = end - begin;
  uint32_t sum = 0;
  for (uint32_t value : x)
    sum ^= value;
  if (sum == 0x12345)
    *out = sum;
}

template <typename Op> void measure(const char *name) {
  Cycles cycles(1);
  for (int i = 0; i < 2; ++i)
    repeat<Op, 1><<<1, 32>>>(cycles.device, nullptr, 0x3f803f80);
  emit(std::string(name) + ", to the next of the chain", cycles.median() / (kRounds * kUnroll),
       "cycles");
  for (int i = 0; i < 2; ++i)
    repeat<Op, 4><<<1, 32>>>(cycles.device, nullptr, 0x3f803f80);
  emit(std::string(name) + ", one warp of 4 chains", cycles.median() / (kRounds * kUnroll * 4),
       "cycles");
}

enum class Access { Load, LoadMatrix, StoreLoad, Atomic, GlobalL1, Local };

/// Pointer chase: each load returns the next address.
template <Access ACCESS> __global__ void chase(long long *cycles, uint32_t *global) {
  __shared__ __align__(128) uint32_t memory[1024];
  uint32_t base = smemAddress(memory);
  for (int i = threadIdx.x; i < 1024; i += blockDim.x)
    memory[i] = base + (threadIdx.x % 8) * 16;
  __syncwarp();
  uint32_t place = base + (threadIdx.x % 8) * 16;
  uint64_t far = uint64_t(global);
  long long begin = clock64();
#pragma unroll 1
  for (int i = 0; i < kRounds; ++i)
#pragma unroll
    for (int j = 0; j < kUnroll; ++j) {
      if constexpr (ACCESS == Access::Load)
        asm volatile("ld.shared.u32 %0, [%0];" : "+r"(place)::"memory");
      else if constexpr (ACCESS == Access::LoadMatrix)
        asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%0];" : "+r"(place)::"memory");
      else if constexpr (ACCESS == Access::StoreLoad)
        asm volatile("st.shared.u32 [%0], %0;\nld.shared.u32 %0, [%0];" : "+r"(place)::"memory");
      else if constexpr (ACCESS == Access::Atomic)
        asm volatile("atom.shared.exch.b32 %0, [%0], %0;" : "+r"(place)::"memory");
      else if constexpr (ACCESS == Access::GlobalL1)
        asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(far)::"memory");
    }
  long long end = clock64();
  if (threadIdx.x == 0)
    cycles[blockIdx.x] = end - begin + (place == 1) + (far == 1);
}

template <Access ACCESS> void measureAccess(const char *name) {
  Cycles cycles(1);
  uint64_t *data;
  CHECK(cudaMalloc(&data, 1024));
  uint64_t itself = uint64_t(data);
  CHECK(cudaMemcpy(data, &itself, 8, cudaMemcpyHostToDevice));
  for (int i = 0; i < 2; ++i)
    chase<ACCESS><<<1, 32>>>(cycles.device, (uint32_t *)data);
  emit(name, cycles.median() / (kRounds * kUnroll), "cycles");
}

int main() {
  measure<Add>("add.s32");
  measure<Add64>("add.s64 and two moves");
  measure<Mad>("mad.lo.s32");
  measure<MulHigh>("mul.hi.u32");
  measure<Logic>("lop3");
  measure<Shift>("shf");
  measure<Permute>("prmt");
  measure<MinS32>("min.s32");
  measure<Select>("setp and selp");
  measure<Popc>("popc");
  measure<Bfind>("bfind");
  measure<Bfe>("bfe");
  measure<FmaF32>("fma.f32");
  measure<AddF32>("add.f32");
  measure<MaxF32>("max.f32");
  measure<FmaF16>("fma.f16x2");
  measure<FmaBF16>("fma.bf16x2");
  measure<MaxBF16>("max.bf16x2");
  measure<UnpackE4M3>("cvt.rn.f16x2.e4m3x2");
  measure<PackE4M3>("cvt.rn.satfinite.e4m3x2.f32 and a mov");
  measure<PackBF16>("cvt.rn.bf16x2.f32");
  measure<PackF16>("cvt.rn.f16x2.f32");
  measure<FromHalf>("cvt.f32.f16");
  measure<FromS32>("cvt.rn.f32.s32");
  measure<ToS32>("cvt.rni.s32.f32");
  measure<Exp2>("ex2.approx.f32");
  measure<Log2>("lg2.approx.f32");
  measure<Rsqrt>("rsqrt.approx.f32");
  measure<Tanh>("tanh.approx.f32");
  measure<Exp2BF16>("ex2.approx.bf16x2");
  measure<Shuffle>("shfl.bfly");
  measure<Vote>("setp and vote.ballot");
  measure<Redux>("redux.max");
  measure<Match>("match.any");
  measure<LaneId>("mov of laneid and add.s32");
  measure<DivS32>("div.u32");
  measure<DivF32>("div.rn.f32");
  measure<SyncWarp>("bar.warp.sync");
  measureAccess<Access::Load>("ld.shared, to its own address");
  measureAccess<Access::LoadMatrix>("ldmatrix.x1, to its own address");
  measureAccess<Access::StoreLoad>("st.shared and ld.shared of it");
  measureAccess<Access::Atomic>("atom.shared.exch, to its own address");
  measureAccess<Access::GlobalL1>("ld.global that hits in L1, to its own address");
}
