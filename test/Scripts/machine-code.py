"""Checks execution counts of machine instructions, which are derived from execution counts of PTX lines. Expected
counts are written by hand for a loop, a skipped branch, and the rare path of a division.

RUN: %python %s %mx_src/simulator/scripts
"""

import sys

sys.path.append(sys.argv[1])
import machine_code

PTX = """\
.visible .entry k() {
  .reg .b32 %r<4>;
  mov.u32 %r1, %tid.x;
LOOP:
  ld.global.b32 %r2, [%rd1];
  add.s32 %r3, %r3, %r2;
  @%p1 bra LOOP;
  @%p2 bra END;
  { st.shared.b32 [%r1], %r3; }
  div.rn.f32 %f1, %f2, %f3;
END:
  ret;
}
"""

LISTING = """
.text.other:
        /*0000*/                   NOP ;
\t.section\t.text.k,"ax",@progbits
.text.k:
\t//## File ".nv_debug_ptx_txt", line 3
        /*0000*/                   S2R R1, SR_TID.X ;
.L_x_0:
\t//## File ".nv_debug_ptx_txt", line 5
        /*0010*/                   LDG.E R2, desc[UR4][R4.64] ;
\t//## File ".nv_debug_ptx_txt", line 6
        /*0020*/                   IADD3 R3, PT, PT, R3, R2, RZ ;
\t//## File ".nv_debug_ptx_txt", line 7
        /*0030*/               @P1 BRA `(.L_x_0) ;
\t//## File ".nv_debug_ptx_txt", line 8
        /*0040*/               @P2 BRA `(.L_x_1) ;
\t//## File ".nv_debug_ptx_txt", line 9
        /*0050*/                   STS [R1], R3 ;
        /*0060*/                   FCHK P0, R2, R3 ;
        /*0070*/              @!P0 BRA `(.L_x_2) ;
\t//## File ".nv_debug_ptx_txt", line 10
        /*0080*/                   CALL.REL.NOINC `($__internal_0_$__cuda_div_slowpath) ;
.L_x_2:
        /*0090*/                   FFMA R3, R3, R3, R3 ;
.L_x_1:
\t//## File ".nv_debug_ptx_txt", line 12
        /*00a0*/                   EXIT ;
        /*00b0*/                   NOP ;
        .weak           $__internal_0_$__cuda_div_slowpath
        .type           $__internal_0_$__cuda_div_slowpath,@function
$__internal_0_$__cuda_div_slowpath:
        /*00c0*/                   FMUL R1, R1, R1 ;
"""

lines = machine_code.lines_of(PTX)
assert lines == {3, 5, 6, 7, 8, 9, 10, 12}, lines
code = machine_code.instructions(LISTING, "k")
assert len(code) == 12, code
by_line = dict.fromkeys(lines, 0) | {3: 2, 5: 20, 6: 20, 7: 20, 8: 2, 12: 2}
classes, opcodes = machine_code.count(code, by_line)
expected = {"S2R": 2, "LDG": 20, "IADD3": 20, "BRA": 22, "STS": 0, "FCHK": 0,
            "CALL": 0, "FFMA": 0, "EXIT": 2}
assert dict(opcodes) == expected, opcodes
by_line |= {9: 2, 10: 2}
_, opcodes = machine_code.count(code, by_line)
expected |= {"BRA": 24, "STS": 2, "FCHK": 2, "FFMA": 2}
assert dict(opcodes) == expected, opcodes
assert (classes["integer"], classes["global"], classes["control"]) == (22, 20, 24)
try:
    machine_code.instructions(LISTING, "missing")
    sys.exit("expected no code for a missing kernel")
except ValueError as error:
    assert "missing" in str(error)
print("counts match")
