//===- NVVMBuilder.h - Builder of NVVM instructions -------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Isolates the spelling of NVVM, which changes between LLVM releases.
//===----------------------------------------------------------------------===//

#ifndef MX_NVVM_NVVMBUILDER_H
#define MX_NVVM_NVVMBUILDER_H

#include "mx/Dialect/Shared/ArithBuilder.h"
#include "mx/Target/Descriptors.h"
#include <array>

namespace mx::mxgpu {

enum class Direction { TowardsZero, Down, Up };

/// Shape and types of a floating-point wgmma with f32 accumulators.
struct WgmmaShape {
  unsigned m, n, k;
  target::MmaType a, b;
};

/// Operands of a wgmma: the descriptor of A, or the four registers (i32) of the
/// A fragment, and the descriptor of B.
struct WgmmaStep {
  llvm::SmallVector<mlir::Value, 4> a;
  mlir::Value b;
};

/// wgmma instructions that add to the same accumulators, given as indices into
/// the thread's accumulators.
struct WgmmaBlock {
  llvm::SmallVector<int64_t> accumulators;
  llvm::SmallVector<WgmmaStep> steps;
  /// True if the first step overwrites the accumulators.
  bool overwrites = false;
};

/// Shape and types of an mma.sync with f32 accumulators. `blockSize` is 0
/// without scales.
struct MmaSyncShape {
  target::MmaKind kind;
  target::MmaType a, b;
  unsigned blockSize;
  FloatFormat scaleFormat;
};

/// Scale operands: a register (i32), its first byte, and the supplying lanes.
struct MmaSyncScales {
  mlir::Value word;
  int64_t byte, thread;
};

/// Operands of an mma.sync: four registers (i32) of A, two of B, optional
/// scales, and the first of its four accumulators in the thread's fragment.
struct MmaSyncStep {
  llvm::ArrayRef<mlir::Value> a, b;
  MmaSyncScales aScales, bScales;
  int64_t accumulator;
};

/// Builds instructions at a location. Shared-memory addresses are
/// `!llvm.ptr<3>`; tensor-memory addresses and counts are i32.
class NVVMBuilder : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  mlir::Value i1(bool value);
  mlir::Value i64(uint64_t value);
  mlir::Value toI32(mlir::Value value);

  /// Returns the address `offset` bytes into dynamic shared memory.
  mlir::Value shared(mlir::Value offset);
  mlir::Value shared(int64_t offset);
  mlir::Value sharedAddress(mlir::Value pointer);
  /// Returns `pointer` plus `bytes` (i32).
  mlir::Value offset(mlir::Value pointer, mlir::Value bytes);
  mlir::Value offset(mlir::Value pointer, int64_t bytes);
  /// Returns the corresponding address in the leading CTA of the pair.
  mlir::Value atLeader(mlir::Value pointer);
  /// Returns the corresponding address in CTA `rank` of the cluster.
  mlir::Value inCta(mlir::Value pointer, int64_t rank);
  /// Pins `pointer` in a register. Otherwise LLVM recomputes sums at every use,
  /// even loop-invariant sums in loops.
  mlir::Value keep(mlir::Value pointer);
  /// Delays `value` (i64) until `earlier` (i32, not negative) is available, so
  /// that results computed from `value` do not occupy registers earlier.
  mlir::Value after(mlir::Value value, mlir::Value earlier);

  mlir::Value threadId();
  mlir::Value warpInCta();
  mlir::Value ctaId();
  mlir::Value ctaCount();
  mlir::Value clusterId();
  mlir::Value clusterCount();
  mlir::Value ctaRank();
  /// Returns true (i1) in the CTA of rank 0.
  mlir::Value isLeader();
  mlir::Value laneId();
  /// Returns true (i1) in the first lane of a warp, or of each `lanes` lanes.
  mlir::Value isFirstLane(int64_t lanes = target::kWarpSize);
  mlir::Value electOne();
  void syncCta();
  void syncWarp();
  /// Synchronizes `count` threads (whole warps) at named barrier `number`.
  void syncThreads(int64_t number, int64_t count);
  void syncCluster();
  /// Sets the register count of the warpgroup's threads to `count`, with the
  /// increasing form of setmaxnreg if `more` is true.
  void setRegisters(int64_t count, bool more);

  // Programmatic dependent launch (PTX ISA, griddepcontrol).
  void waitForGrids();
  void launchDependentGrids();

  // mbarrier (PTX ISA, Parallel Synchronization and Communication).
  void initBarrier(mlir::Value barrier, mlir::Value count);
  /// Ends the life of a barrier, which can then be initialized again.
  void invalidateBarrier(mlir::Value barrier);
  void fenceBarrierInit();
  void arrive(mlir::Value barrier, int64_t count = 1);
  void arriveExpectBytes(mlir::Value barrier, int64_t bytes);
  /// Arrive at a barrier of any CTA of the cluster. arriveAt uses the barrier
  /// of CTA `rank` at the same address as this CTA's `barrier`. Without
  /// `isOrdered`, the remote arrival orders no memory accesses of other CTAs.
  void arriveInCluster(mlir::Value barrier, int64_t count = 1);
  void arriveExpectBytesInCluster(mlir::Value barrier, int64_t bytes);
  void arriveAt(mlir::Value barrier, int64_t rank, bool isOrdered = true);
  /// Waits until the phase with this parity completes. With `cluster`, acquires
  /// at cluster scope, so writes before remote arrivals are visible.
  void wait(mlir::Value barrier, mlir::Value parity, bool cluster = false);

  // Cluster launch control (PTX ISA, clusterlaunchcontrol). `barrier` counts
  // the 16 bytes of the answer. With `multicast`, all CTAs receive the answer.
  void requestCluster(mlir::Value answer, mlir::Value barrier, bool multicast);
  mlir::Value loadAnswer(mlir::Value address);
  /// Returns true (i1) if the answer is a cluster. The caller then owns it.
  mlir::Value isCluster(mlir::Value answer);
  /// Returns the index of the first CTA of that cluster.
  mlir::Value getFirstCta(mlir::Value answer);
  /// Fences between generic and asynchronous accesses of shared memory, so that
  /// bulk copies read the data written by this thread.
  void fenceAsyncShared();

  // Bulk tensor copies. `coords` are i32, innermost first. `policy` is an L2
  // cache policy (i64), or null.
  void prefetchTensorMap(mlir::Value map);
  void loadTensor(mlir::Value dest, mlir::Value map,
                  llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier,
                  mlir::Value policy = {});
  /// Multicasts to a cluster of two. The barriers of both CTAs count the bytes.
  void loadTensorToBoth(mlir::Value dest, mlir::Value map,
                        llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier,
                        mlir::Value policy);
  /// Loads for a CTA pair. The leader's `barrier` counts the bytes. With
  /// `multicast`, both CTAs receive the data.
  void loadTensorOfPair(mlir::Value dest, mlir::Value map,
                        llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier,
                        mlir::Value policy, bool multicast);

  /// Copies shared memory to a box of a tensor, or adds to the box.
  void storeTensor(mlir::Value source, mlir::Value map,
                   llvm::ArrayRef<mlir::Value> coords, bool add,
                   mlir::Value policy = {});
  /// Copies shared memory to a global address (i64). Both addresses and `bytes`
  /// must be multiples of 16.
  void storeBulk(mlir::Value source, mlir::Value address, int64_t bytes);
  /// Commits this thread's stores since the last commit as a bulk group.
  void commitStores();
  /// Waits until at most `groups` bulk groups are pending. A group completes
  /// when its shared memory was read (`read`) or its stores are visible.
  void waitStores(int64_t groups, bool read);
  /// Stores 1, 2 or 4 words (i32) to shared memory, aligned to their size.
  void storeShared(mlir::Value pointer, llvm::ArrayRef<mlir::Value> words);
  /// Loads 1, 2 or 4 words (i32), aligned to their size.
  llvm::SmallVector<mlir::Value> loadShared(mlir::Value pointer, int64_t words);
  /// Loads 1, 2 or 4 matrices of eight 16-byte rows with the whole warp (PTX
  /// ISA, ldmatrix). Lane i supplies the address of row i % 8 of matrix i / 8,
  /// and lane t receives word t % 4 of row t / 4 of each matrix (i32).
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value pointer,
                                              int64_t count);
  /// Stores 1, 2 or 4 matrices, distributed as loadMatrices distributes them
  /// (PTX ISA, stmatrix).
  void storeMatrices(mlir::Value pointer, llvm::ArrayRef<mlir::Value> words);

  // tcgen05 (PTX ISA, TensorCore 5th Generation Family Instructions). Either
  // all or none of a kernel's instructions are for CTA pairs.
  void allocTensorMemory(mlir::Value slot, int64_t columns, bool pair);
  void freeTensorMemory(mlir::Value address, int64_t columns, bool pair);
  void fenceBeforeSync();
  void fenceAfterSync();
  /// Copies a tile of 128 x 4 scales to 4 columns of tensor memory.
  void copyScaleTile(mlir::Value address, mlir::Value descriptor, bool pair);
  /// Issues a block-scaled MMA; `a` and `b` are matrix descriptors.
  void mmaBlockScaled(const target::InstrDescriptor &instruction, mlir::Value d,
                      mlir::Value a, mlir::Value b, mlir::Value accumulate,
                      mlir::Value aScales, mlir::Value bScales);
  /// Issues an MMA without scales.
  void mma(const target::InstrDescriptor &instruction, mlir::Value d,
           mlir::Value a, mlir::Value b, mlir::Value accumulate);
  /// Arrives at `barrier` when all MMAs and copies that this thread issued have
  /// completed. In a pair, arrives at the barriers of both CTAs.
  void commit(mlir::Value barrier, bool pair);
  /// Loads `columns` columns of this warp's 32 lanes, one lane per thread, and
  /// waits. The result depends on the wait.
  mlir::Value loadTensorMemory(mlir::Value address, int64_t columns);

  // wgmma (PTX ISA, Asynchronous Warpgroup Level Matrix Instructions); all
  // threads of a warpgroup execute each instruction.
  void fenceWarpgroup();
  /// Returns the registers (i32) of an A fragment of 8- or 16-bit elements.
  llvm::SmallVector<mlir::Value> packWords(mlir::Value vector);
  /// Adds A times B, block by block, to `accumulators` (the thread's f32
  /// vector). The result is valid after a wait.
  mlir::Value mmaWarpgroup(const WgmmaShape &shape, mlir::Value accumulators,
                           llvm::ArrayRef<WgmmaBlock> blocks);
  /// Commits the wgmmas since the last commit as a group.
  void commitWarpgroup();
  /// Waits until at most `pending` groups, if given, are in flight and returns
  /// `accumulators`. With `isRead`, instructions other than wgmma use the
  /// result, so the result must depend on the wait.
  mlir::Value waitWarpgroup(mlir::Value accumulators,
                            std::optional<int64_t> pending, bool isRead);

  // mma.sync (PTX ISA, mma), executed by all lanes of a warp.
  /// Returns the registers (i32) of a vector.
  llvm::SmallVector<mlir::Value> getWords(mlir::Value vector);
  /// Expands each of the eight E2M1 elements of `word` (i32) to bits 2 to 5 of
  /// a byte. Returns a word of the even and a word of the odd elements.
  std::pair<mlir::Value, mlir::Value> spreadE2M1(mlir::Value word);
  /// Adds MMAs with 16 rows and 8 columns to `accumulators` (vector of f32).
  mlir::Value mmaSync(const MmaSyncShape &shape, mlir::Value accumulators,
                      llvm::ArrayRef<MmaSyncStep> steps);

  /// Returns the low word (i32) of the matrix descriptor of a shared-memory
  /// pointer: the word of `encoded`, the descriptor of address 0, plus the
  /// encoded address. Only the low word of a descriptor varies.
  mlir::Value lowWordOfDescriptor(uint64_t encoded, mlir::Value pointer);
  /// Returns the descriptor (i64) with this low word.
  mlir::Value matrixDescriptor(uint64_t encoded, mlir::Value low);

  /// Stores an i16 or i32, or 4 or 8 i32, at `pointer` (global) plus `offset`
  /// bytes, without allocating in L1. The address must be aligned to the size.
  /// `condition` (i1), unless null, predicates the store.
  void storeGlobal(mlir::Value pointer, int64_t offset,
                   llvm::ArrayRef<mlir::Value> words, mlir::Value condition,
                   mlir::Value policy = {});
  /// Atomically adds 1 or 4 f32, given as bits, with relaxed ordering.
  void addGlobal(mlir::Value pointer, int64_t offset,
                 llvm::ArrayRef<mlir::Value> words, mlir::Value condition,
                 mlir::Value policy = {});

  /// Loads a vector from memory that is constant while the kernel runs.
  mlir::Value loadGlobal(mlir::Value pointer, mlir::VectorType type);

  // Warp-wide operations; all lanes must execute them.
  /// Returns the value (i32) of the lane with this lane's index xor `lanes`.
  mlir::Value shuffleXor(mlir::Value value, int64_t lanes);
  /// Returns the value of the lane `lanes` below this lane, or of this lane if
  /// there is no such lane.
  mlir::Value shuffleUp(mlir::Value value, int64_t lanes);
  mlir::Value shuffleFrom(mlir::Value value, mlir::Value lane);
  /// Returns the mask (i32) of lanes for which the condition holds.
  mlir::Value ballot(mlir::Value condition);
  /// Returns the unsigned maximum (i32) over the warp.
  mlir::Value largestInWarp(mlir::Value value);
  /// Returns the bitwise or of an i32 over the warp.
  mlir::Value joinBitsInWarp(mlir::Value value);

  // Global memory shared between CTAs.
  /// Loads an i32 that other threads may be raising; the value may be stale.
  mlir::Value loadRelaxed(mlir::Value pointer);
  /// Atomically raises an i32 in global memory to at least `value` (unsigned).
  void raiseGlobal(mlir::Value pointer, mlir::Value value);
  /// Atomically adds to an i32 in global memory and returns its old value.
  mlir::Value addAndFetchBefore(mlir::Value pointer, mlir::Value value);
  /// Atomically increments the i32 at a global address, wrapping to 0 after
  /// `last`, and returns its old value.
  mlir::Value drawFromCounter(mlir::Value counter, mlir::Value last);

  // Conversions.
  /// Converts two f32 to a 6- or 8-bit float type (packed in i16). Rounds to
  /// nearest even and saturates. `hi` is placed in the upper bits.
  mlir::Value convertToNarrow(mlir::Value hi, mlir::Value lo, mlir::Type type);
  /// Converts two elements of a 4-bit (i8), 6- or 8-bit (i16) type to f16.
  mlir::Value widenNarrow(mlir::Value pair, mlir::Type type);
  /// Converts the low element of two E4M3 (i16) to f32.
  mlir::Value widenE4M3(mlir::Value pair);
  /// Converts two f32 to f16 or bf16, packed in an i32.
  mlir::Value convertToHalves(mlir::Value hi, mlir::Value lo, mlir::Type type);
  /// Converts two f32 to f8E8M0FNU, packed in an i16
  /// (cvt.rp.satfinite.ue8m0x2).
  mlir::Value convertToScalesUp(mlir::Value hi, mlir::Value lo);
  mlir::Value multiply(mlir::Value a, mlir::Value b, Direction direction);
  /// Returns an approximate 1 / x for normal x; only the last bit may be wrong.
  mlir::Value reciprocal(mlir::Value f32);
  /// Returns the larger magnitude of two f32, or of each half of two bf16 or
  /// f16 pairs, as i32. NaN if either operand is NaN. The sign is unspecified.
  mlir::Value largerMagnitude(mlir::Value a, mlir::Value b, mlir::Type type);
  /// Packs two i16 into an i32, at no cost if they are results of conversions.
  mlir::Value joinHalves(mlir::Value lo, mlir::Value hi);
  /// Converts eight f32 to E2M1, packed in an i32 from the lowest bits up.
  mlir::Value convertToE2M1(mlir::ValueRange eight);
  /// Returns a vector of two f32.
  mlir::Value joinFloats(mlir::Value lo, mlir::Value hi);
  /// Selects bytes of `lo` (0 to 3) and `hi` (4 to 7). Each hexadecimal digit
  /// of `selector` selects a byte; the last digit selects the lowest byte.
  mlir::Value permute(mlir::Value lo, mlir::Value hi, uint32_t selector);

  // Arithmetic on f32.
  /// Returns 1 / x with an error of at most 1 ulp if neither is subnormal.
  mlir::Value approximateReciprocal(mlir::Value x);
  /// Clamps |x| to `limit` and keeps the sign; NaN is unchanged.
  mlir::Value clampMagnitude(mlir::Value x, mlir::Value limit);

private:
  /// Returns copies of the values that an empty asm statement defines. The
  /// statement follows all earlier instructions with side effects.
  llvm::SmallVector<mlir::Value> tie(mlir::ValueRange values,
                                     llvm::StringRef constraint);
  /// Emits `instruction` on 1, 4 or 8 words in global memory.
  void accessGlobal(mlir::StringRef instruction, mlir::StringRef type,
                    mlir::Value pointer, int64_t offset,
                    llvm::ArrayRef<mlir::Value> words, mlir::Value condition,
                    mlir::Value policy);
  /// Returns the multicast mask for both CTAs of a two-CTA cluster, or null.
  mlir::Value maskOf(bool both);
  mlir::Value tensorPointer(mlir::Value address);
  /// Converts a shared-memory pointer of this CTA to the cluster address space.
  mlir::Value inCluster(mlir::Value pointer);
};

/// Splits a pointer into a base, which a stage's buffers share, and an offset.
std::pair<mlir::Value, int64_t> splitOffset(mlir::Value pointer);

/// Name of the global that represents dynamic shared memory.
inline constexpr llvm::StringLiteral kDynamicSharedName = "mx_dynamic_shared";

} // namespace mx::mxgpu

#endif // MX_NVVM_NVVMBUILDER_H
