//===- IntegerOps.h - Integer decoding shared by opcodes --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables with one handler per integer type, for arithmetic and bit operations.
//===----------------------------------------------------------------------===//

#ifndef MXSIM_LIB_EXEC_INTEGEROPS_H
#define MXSIM_LIB_EXEC_INTEGEROPS_H

#include "../machine/Lanes.h"

namespace mx::sim {

/// Handlers for u16 s16 u32 s32 u64 s64.
struct IntHandlers {
  Handler h[6];
  Handler operator[](ptx::Type t) const {
    unsigned width = t.bits == 16 ? 0 : t.bits == 32 ? 1 : t.bits == 64 ? 2 : 3;
    if (width == 3 || (t.kind != 'U' && t.kind != 'S' && t.kind != 'B'))
      return nullptr;
    return h[2 * width + (t.kind == 'S')];
  }
};
#define MX_INT_HANDLERS(f)                                                     \
  IntHandlers {                                                                \
    {                                                                          \
      map<f<uint16_t>>, map<f<int16_t>>, map<f<uint32_t>>, map<f<int32_t>>,    \
          map<f<uint64_t>>, map<f<int64_t>>                                    \
    }                                                                          \
  }
#define MX_WIDE_HANDLERS(f)                                                    \
  IntHandlers {                                                                \
    {                                                                          \
      map<f<uint16_t>>, map<f<int16_t>>, map<f<uint32_t>>, map<f<int32_t>>,    \
          nullptr, nullptr                                                     \
    }                                                                          \
  }

/// Emits d = h(a[, b[, c]]). With `wide`, d and c are twice as wide.
void emitIntegers(Decoder &d, const IntHandlers &handlers, ptx::Type t,
                  unsigned sources, bool wide = false);
/// Like emitIntegers, with the next type modifier of the instruction.
void emitTyped(Decoder &d, const IntHandlers &handlers, unsigned sources);
/// Emits a handler for 32-bit operands.
inline void emitWords(Decoder &d, Handler h, unsigned sources) {
  emitIntegers(d, {{nullptr, nullptr, h, nullptr, nullptr, nullptr}}, {'B', 32},
               sources);
}

} // namespace mx::sim

#endif // MXSIM_LIB_EXEC_INTEGEROPS_H
