//===- Lanes.h - Loops over the lanes of a warp -----------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// map<f> turns a scalar function into a handler. If all lanes are active, the
// loop contains no condition and can be vectorized, with AVX2 where the
// processor has it. The pragma is valid because registers never overlap
// partially.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_MACHINE_LANES_H
#define MXSIM_LIB_MACHINE_LANES_H

#include "Decoder.h"
#include "Handlers.h"
#include "Machine.h"

#include <cstring>
#include <utility>

namespace mx::sim {

#if defined(__clang__)
#define MX_LANES_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define MX_LANES_INDEPENDENT _Pragma("GCC ivdep")
#endif

// Not with FMA: the compiler would contract a * b + c.
#if defined(__x86_64__)
#define MX_AVX2 __attribute__((target("avx2")))
inline const bool kHasAvx2 = __builtin_cpu_supports("avx2");
#else
#define MX_AVX2
constexpr bool kHasAvx2 = false;
#endif

/// Register representation of type T.
template <class T>
using LaneOf = std::conditional_t<(sizeof(T) <= 4), uint32_t, uint64_t>;

template <class T>
inline T fromLane(LaneOf<T> v) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(v);
  } else {
    T t;
    std::memcpy(&t, &v, sizeof t);
    return t;
  }
}

template <class T>
inline LaneOf<T> toLane(T t) {
  if constexpr (std::is_integral_v<T>) {
    // Zero-extend values narrower than 32 bits.
    return static_cast<std::make_unsigned_t<T>>(t);
  } else {
    LaneOf<T> v = 0;
    std::memcpy(&v, &t, sizeof t);
    return v;
  }
}

template <class F>
inline void forLanes(uint32_t mask, F &&f) {
  while (mask) {
    unsigned lane = __builtin_ctz(mask);
    mask &= mask - 1;
    f(lane);
  }
}

inline unsigned firstLane(uint32_t mask) { return __builtin_ctz(mask); }

namespace detail {
inline Slot sourceSlot(const Instr *i, unsigned k) {
  return k == 0 ? i->a : k == 1 ? i->b : i->c;
}

template <auto F, class R, class... A, size_t... K>
[[gnu::always_inline]] inline const Instr *mapLanes(Warp &w, const Instr *i,
                                                    uint32_t mask, R (*)(A...),
                                                    std::index_sequence<K...>) {
  LaneOf<R> *d = w.at<LaneOf<R>>(i->d);
  std::tuple<const LaneOf<A> *...> s{w.at<LaneOf<A>>(sourceSlot(i, K))...};
  if (mask == ~0u) {
    MX_LANES_INDEPENDENT
    for (unsigned lane = 0; lane < 32; ++lane)
      d[lane] = toLane<R>(F(fromLane<A>(std::get<K>(s)[lane])...));
  } else {
    forLanes(mask, [&](unsigned lane) {
      d[lane] = toLane<R>(F(fromLane<A>(std::get<K>(s)[lane])...));
    });
  }
  return i + 1;
}

template <class R, class... A>
constexpr auto operandsOf(R (*)(A...)) {
  return std::index_sequence_for<A...>();
}

template <auto F>
MX_AVX2 const Instr *mapAvx2(Warp &w, const Instr *i) {
  return mapLanes<F>(w, i, ~0u, F, operandsOf(F));
}

template <Handler F>
MX_AVX2 const Instr *handlerAvx2(Warp &w, const Instr *i, uint32_t mask) {
  return F(w, i, mask);
}

template <class T, bool (*F)(T, T)>
[[gnu::always_inline]] inline uint32_t compareAll(Warp &w, const Instr *i) {
  const LaneOf<T> *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b);
  uint32_t bits = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    bits |= uint32_t(F(fromLane<T>(a[lane]), fromLane<T>(b[lane]))) << lane;
  return bits;
}

template <class T, bool (*F)(T, T)>
MX_AVX2 uint32_t compareAvx2(Warp &w, const Instr *i) {
  return compareAll<T, F>(w, i);
}
} // namespace detail

// clang warns if it cannot vectorize a loop because a called function has no
// vector form. Such loops stay scalar.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wpass-failed"
#endif

/// Computes d = F(a[, b[, c]]) in each lane.
template <auto F>
const Instr *map(Warp &w, const Instr *i, uint32_t mask) {
  if (kHasAvx2 && mask == ~0u)
    return detail::mapAvx2<F>(w, i);
  return detail::mapLanes<F>(w, i, mask, F, detail::operandsOf(F));
}

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

/// Returns the handler `F`, which is always inlined, compiled for AVX2 if the
/// processor has it.
template <Handler F>
Handler forVectors() {
  return kHasAvx2 ? detail::handlerAvx2<F> : F;
}

/// Compares two values in each lane of `mask`. Returns a bit per lane.
template <class T, bool (*F)(T, T)>
inline uint32_t compareLanes(Warp &w, const Instr *i, uint32_t mask) {
  if (mask == ~0u)
    return kHasAvx2 ? detail::compareAvx2<T, F>(w, i)
                    : detail::compareAll<T, F>(w, i);
  const LaneOf<T> *a = w.at<LaneOf<T>>(i->a), *b = w.at<LaneOf<T>>(i->b);
  uint32_t bits = 0;
  forLanes(mask, [&](unsigned lane) {
    bits |= uint32_t(F(fromLane<T>(a[lane]), fromLane<T>(b[lane]))) << lane;
  });
  return bits;
}

inline void setPredicate(Warp &w, Slot s, uint32_t bits, uint32_t mask) {
  uint32_t *p = w.at<uint32_t>(s);
  *p = (*p & ~mask) | (bits & mask);
}

/// Returns a value that is the same in all lanes of `mask`.
inline uint32_t uniform32(Warp &w, Slot s, uint32_t mask) {
  return w.at<uint32_t>(s)[firstLane(mask)];
}

/// Returns the address of a lane, base plus offset; 32-bit bases are unsigned.
inline uint64_t laneAddress(Warp &w, Slot base, bool is64, int64_t offset,
                            unsigned lane) {
  return is64 ? w.at<uint64_t>(base)[lane] + offset
              : uint64_t(uint32_t(w.at<uint32_t>(base)[lane] + offset));
}

} // namespace mx::sim

#endif // MXSIM_LIB_MACHINE_LANES_H
