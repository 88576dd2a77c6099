//===- NVVMBuilder.h - Every NVVM instruction that mx emits -----*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//
//
// The spelling of NVVM operations moves between LLVM releases. It stands here
// alone; lowering patterns say what they mean.
//
//===----------------------------------------------------------------------===//

#ifndef MX_NVVM_NVVMBUILDER_H
#define MX_NVVM_NVVMBUILDER_H

#include "mx/Dialect/Shared/ArithBuilder.h"
#include "mx/Target/Descriptors.h"
#include <array>

namespace mx::mxgpu {

/// Directed roundings.
enum class Direction { TowardsZero, Down, Up };

/// One wgmma.mma_async of floating-point operands with accumulators in f32.
struct WgmmaShape {
  unsigned m, n, k;
  target::MmaType a, b;
};

/// Its operands: the matrix descriptor of A or the four registers (i32) that
/// hold it, and the descriptor of B.
struct WgmmaStep {
  llvm::SmallVector<mlir::Value, 4> a;
  mlir::Value b;
};

/// Instructions that add to the same accumulators: their numbers among those of
/// a thread.
struct WgmmaBlock {
  llvm::SmallVector<int64_t> accumulators;
  llvm::SmallVector<WgmmaStep> steps;
};

/// One mma.sync with accumulators in f32; without scales the block is 0.
struct MmaSyncShape {
  target::MmaKind kind;
  target::MmaType a, b;
  unsigned blockSize;
  FloatFormat scaleFormat;
};

/// Where an instruction finds scales: a register (i32), the first of its bytes,
/// and the lanes that have them.
struct MmaSyncScales {
  mlir::Value word;
  int64_t byte, thread;
};

/// Its operands: four registers (i32) of A and two of B, scales if it has any,
/// and the number of the first of its four accumulators among a thread's.
struct MmaSyncStep {
  llvm::ArrayRef<mlir::Value> a, b;
  MmaSyncScales aScales, bScales;
  int64_t accumulator;
};

/// Builds instructions at one location. Shared-memory addresses are
/// `!llvm.ptr<3>`, addresses in tensor memory and counts are i32.
class NVVMBuilder : public ArithBuilder {
public:
  using ArithBuilder::ArithBuilder;

  mlir::Value i1(bool value);
  mlir::Value i64(uint64_t value);
  /// Any integer or index as i32.
  mlir::Value toI32(mlir::Value value);

  /// Start of the kernel's dynamic shared memory plus `offset` bytes.
  mlir::Value shared(mlir::Value offset);
  mlir::Value shared(int64_t offset);
  /// The 32-bit address of a shared-memory pointer.
  mlir::Value sharedAddress(mlir::Value pointer);
  /// The place `bytes` (i32) after a pointer.
  mlir::Value offset(mlir::Value pointer, mlir::Value bytes);
  mlir::Value offset(mlir::Value pointer, int64_t bytes);
  /// The same place of shared memory in the leading CTA of the pair.
  mlir::Value atLeader(mlir::Value pointer);
  /// The same place of shared memory in the CTA of this rank of the cluster.
  mlir::Value inCta(mlir::Value pointer, int64_t rank);
  /// The same pointer, in a register: LLVM would compute a sum again wherever
  /// it is used, also in loops that leave it alone.
  mlir::Value keep(mlir::Value pointer);
  /// `value` (i64), not before `earlier` (i32, not negative) is there: what is
  /// computed of it does not take registers at the same time.
  mlir::Value after(mlir::Value value, mlir::Value earlier);

  // Threads.
  mlir::Value threadId();
  /// Number of this thread's warp.
  mlir::Value warpInCta();
  mlir::Value ctaId();
  mlir::Value ctaCount();
  mlir::Value clusterId();
  mlir::Value clusterCount();
  /// Rank of this CTA in its cluster.
  mlir::Value ctaRank();
  /// Whether that is 0.
  mlir::Value isLeader();
  mlir::Value laneId();
  /// Whether this is the first lane of its warp, or of its group of `lanes`.
  mlir::Value isFirstLane(int64_t lanes = target::kWarpSize);
  mlir::Value electOne();
  void syncCta();
  void syncWarp();
  /// `count` threads of the CTA, whole warps, at its barrier `number`.
  void syncThreads(int64_t number, int64_t count);
  /// All threads of all CTAs of the cluster.
  void syncCluster();
  /// Gives each thread of the warpgroup `count` registers, more or fewer than
  /// the kernel was launched with.
  void setRegisters(int64_t count, bool more);

  // Other kernels (PTX ISA, griddepcontrol).
  void waitForGrids();
  void launchDependentGrids();

  // mbarrier (PTX ISA, Parallel Synchronization and Communication
  // Instructions: mbarrier).
  void initBarrier(mlir::Value barrier, mlir::Value count);
  void fenceBarrierInit();
  void arrive(mlir::Value barrier, int64_t count = 1);
  void arriveExpectBytes(mlir::Value barrier, int64_t bytes);
  /// The same at a barrier of any CTA of the cluster, and at the place of this
  /// CTA's `barrier` in the CTA of the given rank, there also without order for
  /// the memory of other CTAs.
  void arriveInCluster(mlir::Value barrier, int64_t count = 1);
  void arriveExpectBytesInCluster(mlir::Value barrier, int64_t bytes);
  void arriveAt(mlir::Value barrier, int64_t rank, bool isOrdered = true);
  /// Spins until the phase of the given parity has completed. With `cluster`,
  /// what threads of the cluster did before they arrived is visible.
  void wait(mlir::Value barrier, mlir::Value parity, bool cluster = false);

  // Cluster launch control (PTX ISA, clusterlaunchcontrol). An answer is 16
  // bytes in shared memory, whose arrival the barrier expects; with `multicast`
  // it comes to all CTAs of the cluster.
  void requestCluster(mlir::Value answer, mlir::Value barrier, bool multicast);
  mlir::Value loadAnswer(mlir::Value address);
  /// Whether the answer is a cluster, which then is the caller's.
  mlir::Value isCluster(mlir::Value answer);
  /// Number of that cluster's first CTA.
  mlir::Value getFirstCta(mlir::Value answer);
  /// Lets asynchronous accesses to shared memory come after this thread's own,
  /// and copies read what it has written.
  void fenceAsyncShared();

  // Bulk tensor copies. `coords` are i32, innermost first; `policy` is an L2
  // cache policy (i64), or null.
  void prefetchTensorMap(mlir::Value map);
  void loadTensor(mlir::Value dest, mlir::Value map,
                  llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier,
                  mlir::Value policy = {});
  /// Both CTAs of a cluster of two receive the bytes, which count at the
  /// barrier of each.
  void loadTensorToBoth(mlir::Value dest, mlir::Value map,
                        llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier,
                        mlir::Value policy);
  /// For a CTA pair: the bytes count at `barrier`, the leader's. With
  /// `multicast` both CTAs receive them.
  void loadTensorOfPair(mlir::Value dest, mlir::Value map,
                        llvm::ArrayRef<mlir::Value> coords, mlir::Value barrier,
                        mlir::Value policy, bool multicast);

  /// Copies shared memory to a box of a tensor, or adds it to that. `policy` is
  /// an L2 cache policy (i64), here and below; null for none.
  void storeTensor(mlir::Value source, mlir::Value map,
                   llvm::ArrayRef<mlir::Value> coords, bool add,
                   mlir::Value policy = {});
  /// Copies shared memory to a global address (i64); both are multiples of 16,
  /// and so are the bytes.
  void storeBulk(mlir::Value source, mlir::Value address, int64_t bytes);
  /// Makes a group of this thread's stores since the last one.
  void commitStores();
  /// Waits until at most `groups` of them are under way: have not been read
  /// from shared memory with `read`, else are not visible.
  void waitStores(int64_t groups, bool read);
  /// Writes 1, 2 or 4 words (i32) to shared memory, at a multiple of their
  /// size.
  void storeShared(mlir::Value pointer, llvm::ArrayRef<mlir::Value> words);
  /// Reads as many words (i32) in the same way.
  llvm::SmallVector<mlir::Value> loadShared(mlir::Value pointer, int64_t words);
  /// Reads 1, 2 or 4 matrices of 8 rows of 16 bytes: lane i names row i % 8 of
  /// matrix i / 8, and lane t gets word t % 4 of row t / 4 of each, as an i32
  /// (PTX ISA, ldmatrix). All lanes of a warp take part.
  llvm::SmallVector<mlir::Value> loadMatrices(mlir::Value pointer,
                                              int64_t count);

  // tcgen05 (PTX ISA, TensorCore 5th Generation Family Instructions). All of a
  // kernel are for CTA pairs, or none is.
  void allocTensorMemory(mlir::Value slot, int64_t columns, bool pair);
  void freeTensorMemory(mlir::Value address, int64_t columns, bool pair);
  void fenceBeforeSync();
  void fenceAfterSync();
  /// Copies one tile of 128 x 4 scales to 4 columns.
  void copyScaleTile(mlir::Value address, mlir::Value descriptor, bool pair);
  /// One instruction with block scales; `a` and `b` are matrix descriptors.
  void mmaBlockScaled(const target::InstrDescriptor &instruction, mlir::Value d,
                      mlir::Value a, mlir::Value b, mlir::Value accumulate,
                      mlir::Value aScales, mlir::Value bScales);
  /// One instruction without scales.
  void mma(const target::InstrDescriptor &instruction, mlir::Value d,
           mlir::Value a, mlir::Value b, mlir::Value accumulate);
  /// Arrives when all that the thread started has completed; in a pair, at the
  /// barriers of both CTAs.
  void commit(mlir::Value barrier, bool pair);
  /// Loads `columns` columns of this warp's 32 lanes, one lane a thread, and
  /// waits; the result cannot be used before the wait.
  mlir::Value loadTensorMemory(mlir::Value address, int64_t columns);

  // wgmma (PTX ISA, Asynchronous Warpgroup Level Matrix Instructions), by all
  // threads of a warpgroup.
  void fenceWarpgroup();
  /// The registers (i32) that hold elements of 8 or 16 bits of A.
  llvm::SmallVector<mlir::Value> packWords(mlir::Value vector);
  /// Adds to `accumulators` (a vector of f32, a thread's registers) the
  /// MMAs of A and B, block by block. The result is there after a wait.
  mlir::Value mmaWarpgroup(const WgmmaShape &shape, mlir::Value accumulators,
                           llvm::ArrayRef<WgmmaBlock> blocks);
  /// Makes a group of the instructions since the last one.
  void commitWarpgroup();
  /// Waits until at most `pending` groups are under way. The result is
  /// `accumulators`, and cannot be used before the wait if it `isRead`, by
  /// others than the instructions that add to it.
  mlir::Value waitWarpgroup(mlir::Value accumulators, int64_t pending,
                            bool isRead);

  // mma.sync (PTX ISA, mma), by all lanes of a warp.
  /// The registers (i32) that hold a vector.
  llvm::SmallVector<mlir::Value> getWords(mlir::Value vector);
  /// Eight E2M1 of a word (i32), those of even numbers and those of odd ones,
  /// as words with a byte each, in its bits 2 to 5.
  std::pair<mlir::Value, mlir::Value> spreadE2M1(mlir::Value word);
  /// Adds MMAs of 16 rows and 8 columns to `accumulators`, a vector of f32.
  mlir::Value mmaSync(const MmaSyncShape &shape, mlir::Value accumulators,
                      llvm::ArrayRef<MmaSyncStep> steps);

  /// The matrix descriptor of a place in shared memory: `word`, which is that
  /// of address 0, plus the place.
  mlir::Value matrixDescriptor(uint64_t word, mlir::Value pointer);

  /// Writes one i16 or i32, or 4 or 8 i32, at `pointer` (global) plus `offset`
  /// bytes, which is a multiple of their size, without taking place in the L1
  /// cache, if `condition` holds (i1; null: always).
  void storeGlobal(mlir::Value pointer, int64_t offset,
                   llvm::ArrayRef<mlir::Value> words, mlir::Value condition,
                   mlir::Value policy = {});
  /// Adds 1 or 4 f32, given by their bits, to those in memory, each in one
  /// piece and in no order with others.
  void addGlobal(mlir::Value pointer, int64_t offset,
                 llvm::ArrayRef<mlir::Value> words, mlir::Value condition,
                 mlir::Value policy = {});

  /// Reads a vector that nothing writes while the kernel runs.
  mlir::Value loadGlobal(mlir::Value pointer, mlir::VectorType type);

  // A warp's lanes, all of which take part.
  /// The value (i32) of the lane whose number differs in these bits.
  mlir::Value shuffleXor(mlir::Value value, int64_t lanes);
  /// That of the lane whose number is so much lower, or the lane's own.
  mlir::Value shuffleUp(mlir::Value value, int64_t lanes);
  /// That of the lane with this number.
  mlir::Value shuffleFrom(mlir::Value value, mlir::Value lane);
  /// The lanes for which the condition holds, as the bits of an i32.
  mlir::Value ballot(mlir::Value condition);
  /// The largest unsigned value (i32) of them.
  mlir::Value largestInWarp(mlir::Value value);

  // Global memory that CTAs share.
  /// An i32 that others may be raising: what it was at some time.
  mlir::Value loadRelaxed(mlir::Value pointer);
  /// Raises an i32 in global memory to `value` (unsigned), whatever others do.
  void raiseGlobal(mlir::Value pointer, mlir::Value value);
  /// Adds to an i32 in global memory, whatever others do, and returns what it
  /// was before.
  mlir::Value addAndFetchBefore(mlir::Value pointer, mlir::Value value);
  /// The number (i32) at a global address, which then becomes one more, or 0
  /// after `last`.
  mlir::Value drawFromCounter(mlir::Value counter, mlir::Value last);

  // Conversions.
  /// Two f32 to a float type of 6 or 8 bits (as i16), to nearest even and
  /// saturated; `hi` gets the upper bits.
  mlir::Value convertToNarrow(mlir::Value hi, mlir::Value lo, mlir::Type type);
  /// Two numbers of a float type of 4 bits (in an i8), 6 or 8 (i16) as f16.
  mlir::Value widenNarrow(mlir::Value pair, mlir::Type type);
  /// The low one of two E4M3 numbers (i16) as f32.
  mlir::Value widenE4M3(mlir::Value pair);
  /// Two f32 as f16 or bf16 in an i32.
  mlir::Value convertToHalves(mlir::Value hi, mlir::Value lo, mlir::Type type);
  /// Two f32 as f8E8M0FNU in an i16 (cvt.rp.satfinite.ue8m0x2).
  mlir::Value convertToScalesUp(mlir::Value hi, mlir::Value lo);
  /// The product of two f32.
  mlir::Value multiply(mlir::Value a, mlir::Value b, Direction direction);
  /// 1 / x but for the last bit, for numbers that are not subnormal.
  mlir::Value reciprocal(mlir::Value f32);
  /// The larger magnitude of two f32 (`type`), or of each half of two pairs of
  /// bf16 or f16, all as i32: NaN if either is one. Its sign is any.
  mlir::Value largerMagnitude(mlir::Value a, mlir::Value b, mlir::Type type);
  /// Two i16 in an i32. Results of conversions cost nothing to join.
  mlir::Value joinHalves(mlir::Value lo, mlir::Value hi);
  /// Eight f32 as E2M1 in an i32, the first in the lowest bits.
  mlir::Value convertToE2M1(mlir::ValueRange eight);
  /// A vector of two f32.
  mlir::Value joinFloats(mlir::Value lo, mlir::Value hi);
  /// Bytes of `lo` (0 to 3) and `hi` (4 to 7); hexadecimal digits of
  /// `selector` name them, the last digit that of the lowest byte.
  mlir::Value permute(mlir::Value lo, mlir::Value hi, uint32_t selector);

  // Numbers, of type f32.
  /// 1 / x, off by 1 ulp at most where neither is subnormal.
  mlir::Value approximateReciprocal(mlir::Value x);
  /// `limit` with the sign of x where |x| > limit; NaN stays.
  mlir::Value clampMagnitude(mlir::Value x, mlir::Value limit);

private:
  /// The same values after all instructions with side effects before, as LLVM
  /// sees it.
  llvm::SmallVector<mlir::Value> tie(mlir::ValueRange values,
                                     llvm::StringRef constraint);
  /// An instruction on 1, 4 or 8 words in global memory.
  void accessGlobal(mlir::StringRef instruction, mlir::StringRef type,
                    mlir::Value pointer, int64_t offset,
                    llvm::ArrayRef<mlir::Value> words, mlir::Value condition,
                    mlir::Value policy);
  /// Multicast mask of both CTAs of a pair, which is a whole cluster; or null.
  mlir::Value maskOf(bool both);
  mlir::Value tensorPointer(mlir::Value address);
  /// A pointer to shared memory of this CTA as one of the cluster's.
  mlir::Value inCluster(mlir::Value pointer);
};

/// A pointer as another one and constant bytes: buffers and barriers of a stage
/// have its start in common.
std::pair<mlir::Value, int64_t> splitOffset(mlir::Value pointer);

/// Name of the global that stands for dynamic shared memory.
inline constexpr llvm::StringLiteral kDynamicSharedName = "mx_dynamic_shared";

} // namespace mx::mxgpu

#endif // MX_NVVM_NVVMBUILDER_H
