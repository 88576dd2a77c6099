"""The PTX ISA 9.0 instructions that nvcc 13 and LLVM 22 emit for sm_90a,
sm_100a and sm_120a, as patterns. `{a,b}` is replaced by each alternative, which may
be empty. Single letters are registers: p predicate, b 8, h 16, r 32, d 64 and q
128 bits. %sa, %ga, %la, %mb and %tm hold addresses of shared, global and local
memory, of an mbarrier and of tensor memory.

instruction_set.py TARGET > kernels.ptx
"""

import itertools
import re
import sys

INTEGER = """
{add,sub}.{u16,s16,u32,s32,u64,s64,sat.s32} X, X, X
add.{u16x2,s16x2} r, r, r
mul.lo.{u16,s16,u32,s32,u64,s64} X, X, X
mul.hi.{u16,s16,u32,s32,u64,s64} X, X, X
mul.wide.{u16,s16} r, h, h
mul.wide.{u32,s32} d, r, r
mad.{lo,hi}.{u16,s16,u32,s32,u64,s64} X, X, X, X
mad.hi.sat.s32 r, r, r, r
mad.wide.{u16,s16} r, h, h, r
mad.wide.{u32,s32} d, r, r, d
mul24.{lo,hi}.{u32,s32} r, r, r
mad24.{lo,hi}.{u32,s32} r, r, r, r
mad24.hi.sat.s32 r, r, r, r
sad.{u16,s16,u32,s32,u64,s64} X, X, X, X
{div,rem,min,max}.{u16,s16,u32,s32,u64,s64} X, X, X
{min,max}.{u16x2,s16x2} r, r, r
{min,max}.relu.{s16x2,s32} r, r, r
{abs,neg}.{s16,s32,s64} X, X
popc.{b32,b64} r, X
clz.{b32,b64} r, X
bfind{,.shiftamt}.{u32,s32,u64,s64} r, X
fns.b32 r, r, r, r
brev.{b32,b64} X, X
bfe.{u32,s32,u64,s64} X, X, r, r
bfi.{b32,b64} X, X, X, r, r
szext.{clamp,wrap}.{u32,s32} r, r, r
bmsk.{clamp,wrap}.b32 r, r, r
dp4a.{u32,s32}.{u32,s32} r, r, r, r
dp2a.{lo,hi}.{u32,s32}.{u32,s32} r, r, r, r
{add,sub}.cc.{u32,s32,u64,s64} X, X, X
{addc,subc}{,.cc}.{u32,s32,u64,s64} X, X, X
mad.{lo,hi}.cc.{u32,s32,u64,s64} X, X, X, X
madc.{lo,hi}{,.cc}.{u32,s32,u64,s64} X, X, X, X
{and,or,xor}.{b16,b32,b64,pred} X, X, X
not.{b16,b32,b64,pred} X, X
cnot.{b16,b32,b64} X, X
lop3.b32 r, r, r, r, 0xe8
lop3.{or,and}.b32 r|p, r, r, r, 0x3f, p
lop3.or.b32 _|p, r, r, r, 0x3f, p
shl.{b16,b32,b64} X, X, r
shr.{b16,b32,b64,u16,u32,u64,s16,s32,s64} X, X, r
shf.{l,r}.{clamp,wrap}.b32 r, r, r, r
prmt.b32{,.f4e,.b4e,.rc8,.ecl,.ecr,.rc16} r, r, r, r
"""

VIDEO = """
v{add,sub,absdiff,min,max}.{u32,s32}.{u32,s32}.{u32,s32}{,.sat} r, r, r
v{add,sub,absdiff}.u32.u32.u32.sat r, r.b1, r.b2
v{add,sub,absdiff,min,max}.s32.s32.s32.sat.{add,min,max} r, r.h0, r.b3, r
v{add,absdiff}.u32.u32.u32 r.h1, r.b0, r.h1, r
v{shl,shr}.u32.u32.u32{,.sat}.{clamp,wrap} r, r, r
vmad.s32.s32.s32{,.sat}{,.shr7,.shr15} r, r.b0, r.h1, r
vmad.u32.u32.u32.po r, r, r, r
vset.u32.u32.{eq,ne,lt,le,gt,ge} r, r.b0, r.b1
v{add,sub,avrg,absdiff,min,max}2.{u32,s32}.{u32,s32}.{u32,s32}{,.sat} r, r, r, r
vadd2.u32.u32.u32.add r, r, r, r
vadd2.s32.s32.s32 r.h10, r.h32, r.h12, r
v{add,sub,avrg,absdiff,min,max}4.{u32,s32}.{u32,s32}.{u32,s32}{,.sat} r, r, r, r
vabsdiff4.u32.u32.u32.add r, r, r, r
vset{2,4}.u32.u32.{eq,lt,ge}{,.add} r, r, r, r
"""

FLOAT = """
{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}{,.sat}.f32 r, r, r
fma.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32 r, r, r, r
mad.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32 r, r, r, r
{add,sub,mul}{,.rn,.rz,.rm,.rp}.f64 d, d, d
{fma,mad}.{rn,rz,rm,rp}.f64 d, d, d, d
{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f32 r, r, r
{min,max}.f64 d, d, d
{abs,neg}{,.ftz}.f32 r, r
{abs,neg}.f64 d, d
copysign.f32 r, r, r
copysign.f64 d, d, d
testp.{finite,infinite,number,notanumber,normal,subnormal}.{f32,f64} p, X
div.{approx,full,rn,rz,rm,rp}{,.ftz}.f32 r, r, r
div.{rn,rz,rm,rp}.f64 d, d, d
rcp.{approx,rn,rz,rm,rp}{,.ftz}.f32 r, r
rcp.{rn,rz,rm,rp}.f64 d, d
rcp.approx.ftz.f64 d, d
sqrt.{approx,rn,rz,rm,rp}{,.ftz}.f32 r, r
sqrt.{rn,rz,rm,rp}.f64 d, d
rsqrt.approx{,.ftz}.f32 r, r
rsqrt.approx{,.ftz}.f64 d, d
{sin,cos,lg2,ex2}.approx{,.ftz}.f32 r, r
tanh.approx.{f32,f16x2,bf16x2} r, r
tanh.approx.{f16,bf16} h, h
ex2.approx.{f16,ftz.bf16} h, h
ex2.approx.{f16x2,ftz.bf16x2} r, r
{add,sub,mul}{,.rn}{,.ftz}{,.sat}.f16 h, h, h
{add,sub,mul}{,.rn}{,.ftz}{,.sat}.f16x2 r, r, r
{add,sub,mul}{,.rn}.bf16 h, h, h
{add,sub,mul}{,.rn}.bf16x2 r, r, r
fma.rn{,.ftz}{,.sat,.relu}.f16 h, h, h, h
fma.rn{,.ftz}{,.sat,.relu}.f16x2 r, r, r, r
fma.rn{,.relu}.bf16 h, h, h, h
fma.rn{,.relu}.bf16x2 r, r, r, r
fma.rn.oob{,.relu}.{f16,bf16} h, h, h, h
fma.rn.oob{,.relu}.{f16x2,bf16x2} r, r, r, r
{neg,abs}{,.ftz}.f16 h, h
{neg,abs}{,.ftz}.f16x2 r, r
{neg,abs}.bf16 h, h
{neg,abs}.bf16x2 r, r
{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f16 h, h, h
{min,max}{,.ftz}{,.NaN}{,.xorsign.abs}.f16x2 r, r, r
{min,max}{,.NaN}{,.xorsign.abs}.bf16 h, h, h
{min,max}{,.NaN}{,.xorsign.abs}.bf16x2 r, r, r
"""

FLOAT_SM100 = """
{add,sub,mul}{,.rn,.rz,.rm,.rp}{,.ftz}.f32x2 d, d, d
fma.{rn,rz,rm,rp}{,.ftz}.f32x2 d, d, d, d
{min,max}{,.ftz}{,.NaN}{,.abs}.f32 r, r, r, r
{add,sub}{,.rn,.rz,.rm,.rp}{,.sat}.f32.{f16,bf16} r, h, r
fma.{rn,rz,rm,rp}{,.sat}.f32.{f16,bf16} r, h, h, r
"""

CONVERT = """
cvt.u16.{u8,s8} h, r
cvt.{u32,s32}.{u8,s8,u16,s16} r, H
cvt.{u64,s64}.{u8,s8,u16,s16,u32,s32} d, X
cvt.{u8,s8}.{u16,s16,u32,s32,u64,s64} r, X
cvt.{u16,s16}.{u32,s32,u64,s64} h, X
cvt.{u32,s32}.{u64,s64} r, d
cvt.sat.{u8,s8}.{u16,s16,u32,s32,u64,s64} r, X
cvt.sat.{u16,s16}.{u32,s32,u64,s64} h, X
cvt.sat.{u32,s32}.{u64,s64} r, d
cvt.{rni,rzi,rmi,rpi}{,.ftz}.{u8,s8,u32,s32}.f32 r, r
cvt.{rni,rzi,rmi,rpi}{,.ftz}.{u16,s16}.f32 h, r
cvt.{rni,rzi,rmi,rpi}{,.ftz}.{u64,s64}.f32 d, r
cvt.{rni,rzi,rmi,rpi}.{u32,s32}.{f16,bf16} r, h
cvt.{rni,rzi,rmi,rpi}.{u16,s16}.{f16,bf16} h, h
cvt.{rni,rzi,rmi,rpi}.{u64,s64}.{f16,bf16} d, h
cvt.{rni,rzi,rmi,rpi}.{u8,s8,u32,s32}.f64 r, d
cvt.{rni,rzi,rmi,rpi}.{u16,s16}.f64 h, d
cvt.{rni,rzi,rmi,rpi}.{u64,s64}.f64 d, d
cvt.{rn,rz,rm,rp}{,.sat}.f32.{u8,s8,u32,s32,u64,s64} r, X
cvt.{rn,rz,rm,rp}.f32.{u16,s16} r, h
cvt.{rn,rz,rm,rp}{,.sat}.f64.{u8,s8,u32,s32,u64,s64} d, X
cvt.{rn,rz,rm,rp}.f16.{u8,s8} h, r
cvt.{rn,rz,rm,rp}.{f16,bf16}.{u16,s16,u32,s32,u64,s64} h, X
cvt{,.ftz}{,.sat}.f64.f32 d, r
cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f32.f64 r, d
cvt{,.ftz}{,.sat}.f32.f16 r, h
cvt.f32.bf16 r, h
cvt.f64.{f16,bf16} d, h
cvt.{rn,rz,rm,rp}{,.ftz}{,.sat}.f16.f32 h, r
cvt.{rn,rz}{,.relu}{,.satfinite}.{f16,bf16}.f32 h, r
cvt.{rm,rp}.bf16.f32 h, r
cvt.{rn,rz,rm,rp}.{f16,bf16}.f64 h, d
cvt.{rn,rz,rm,rp}.bf16.f16 h, h
cvt.{rn,rz,rm,rp}.f16.bf16 h, h
cvt.{rni,rzi,rmi,rpi}{,.ftz}{,.sat}.f32.f32 r, r
cvt{,.ftz}{,.sat}.f32.f32 r, r
cvt.{rni,rzi,rmi,rpi}{,.sat}.f64.f64 d, d
cvt.{rni,rzi,rmi,rpi}.{f16.f16,bf16.bf16} h, h
cvt{,.sat}.f16.f16 h, h
cvt.{rn,rz}{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32 r, r, r
cvt.rna{,.satfinite}.tf32.f32 r, r
cvt.{rn,rz}{,.relu}.tf32.f32 r, r
cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f32 h, r, r
cvt.rn.satfinite{,.relu}.{e4m3x2,e5m2x2}.f16x2 h, r
cvt.rn{,.relu}.f16x2.{e4m3x2,e5m2x2} r, h
cvt.pack.sat.{u16,s16}.s32 r, r, r
cvt.pack.sat.{u8,s8,u4,s4,u2,s2}.s32.b32 r, r, r, r
"""

CONVERT_SM100 = """
cvt.{rn,rz}{,.relu}.satfinite.tf32.f32 r, r
cvt.rn.satfinite{,.relu}.{e2m3x2,e3m2x2}.f32 h, r, r
cvt.rn.satfinite{,.relu}.e2m1x2.f32 b, r, r
cvt.rn{,.relu}.f16x2.{e2m3x2,e3m2x2} r, h
cvt.rn{,.relu}.f16x2.e2m1x2 r, b
cvt.{rz,rp}{,.satfinite}.ue8m0x2.f32 h, r, r
cvt.{rz,rp}{,.satfinite}.ue8m0x2.bf16x2 h, r
cvt.rn.bf16x2.ue8m0x2 r, h
"""

CONVERT_STOCHASTIC = """
cvt.rs{,.relu}{,.satfinite}.{f16x2,bf16x2}.f32 r, r, r, r
cvt.rs{,.relu}.satfinite.{e4m3x4,e5m2x4,e2m3x4,e3m2x4}.f32 r, {r, r, r, r}, r
cvt.rs{,.relu}.satfinite.e2m1x4.f32 h, {r, r, r, r}, r
"""

COMPARE = """
setp.{eq,ne,lt,le,gt,ge}.{u16,s16,u32,s32,u64,s64} p, X, X
setp.{eq,ne}.{b16,b32,b64} p, X, X
setp.{lo,ls,hi,hs}.{u16,u32,u64} p, X, X
setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.{f32,f64} p, X, X
setp.{eq,lt,ltu,nan}.ftz.f32 p, r, r
setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f16 p, h, h
setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}{,.ftz}.f16x2 p|p, r, r
setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.bf16 p, h, h
setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.bf16x2 p|p, r, r
setp.{lt,ge}.{and,or,xor}.s32 p|p, r, r, p
setp.lt.and.f16 p, h, h, !p
setp.lt.and.f16x2 p|p, r, r, p
set.{eq,ne,lt,le,gt,ge}.{u32,s32,f32}.{u16,s16,u32,s32,u64,s64} r, X, X
set.{eq,ltu,num,nan}{,.ftz}.{u32,s32,f32}.f32 r, r, r
set.{eq,ltu,num,nan}.{u32,s32,f32}.f64 r, d, d
set.{eq,lt,geu}.{and,or,xor}.u32.f32 r, r, r, p
set.{eq,ltu}{,.ftz}.{u16,f16}.f16 h, h, h
set.{eq,ltu}.{u32,s32}.f16 r, h, h
set.{eq,ltu}{,.ftz}.f16x2.f16x2 r, r, r
set.{eq,ltu}.{u16,bf16}.bf16 h, h, h
set.{eq,ltu}.bf16x2.bf16x2 r, r, r
set.{eq,lt}.f16.{u16,s16,u32,s32,u64,s64} h, X, X
selp.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64} X, X, X, p
slct.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64}.s32 X, X, X, r
slct{,.ftz}.{b32,f32,f64}.f32 X, X, X, r
"""

MOVE = """
mov.{b16,b32,b64,u16,u32,u64,s16,s32,s64,f32,f64,pred} X, X
mov.b32 r, {h, h}
mov.b32 {h, h}, r
mov.b64 d, {r, r}
mov.b64 {r, r}, d
mov.b64 {_, r}, d
mov.b64 d, {h, h, h, h}
mov.b64 {h, h, h, h}, d
mov.b128 q, {d, d}
mov.b128 {d, d}, q
mov.u32 r, %{tid,ntid,ctaid,nctaid,clusterid,nclusterid,cluster_ctaid,cluster_nctaid}.{x,y,z}
mov.u32 r, %{laneid,warpid,nwarpid,smid,nsmid,lanemask_eq,lanemask_lt,lanemask_le,lanemask_gt,lanemask_ge,cluster_ctarank,cluster_nctarank,clock,clock_hi,globaltimer_lo,globaltimer_hi,total_smem_size,aggr_smem_size,dynamic_smem_size,reserved_smem_offset_begin,reserved_smem_offset_end,reserved_smem_offset_cap}
mov.u64 d, %{gridid,clock64,globaltimer}
mov.u64 d, %current_graph_exec
mov.u32 r, %{pm0,pm7}
mov.u32 r, %envreg0
mov.pred p, %is_explicit_cluster
mov.u32 r, sm
mov.u64 d, gl
mov.u64 d, gl+8
cvta{,.to}.{global,shared,local,const,param}.u64 d, d
cvta{,.to}.{shared::cta,shared::cluster}.u64 d, d
isspacep.{global,shared,shared::cta,shared::cluster,local,const,param} p, d
mapa.shared::cluster.u32 r, r, r
mapa.shared::cluster.u64 d, d, r
mapa.u64 d, d, r
getctarank.shared::cluster.u32 r, r
getctarank.u64 r, d
createpolicy.fractional.{L2::evict_last,L2::evict_normal,L2::evict_first,L2::evict_unchanged}.b64 d, 1.0
createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 d
createpolicy.range.global.L2::evict_last.L2::evict_first.b64 d, [%ga], r, r
createpolicy.cvt.L2.b64 d, d
"""

MEMORY = """
ld{,.global,.shared,.local,.const}.{b8,u8,s8,b16,u16,s16} h, [A]
ld{,.global,.shared,.local,.const}.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32} r, [A]
ld{,.global,.shared,.local,.const}.{b64,u64,s64,f64} d, [A]
ld.{global,shared}.b128 q, [A]
ld.{global,shared,local}.v2.{u8,s8,u16,b32,f32} {r, r}, [A]
ld.{global,shared,local}.v2.{b64,f64} {d, d}, [A]
ld.{global,shared,local}.v4.{u8,u16,b32,f32} {r, r, r, r}, [A]
ld.global{,.ca,.cg,.cs,.lu,.cv}.b32 r, [%ga]
ld.global.nc{,.L1::evict_normal,.L1::evict_unchanged,.L1::evict_first,.L1::evict_last,.L1::no_allocate}{,.L2::64B,.L2::128B,.L2::256B}.v4.f32 {r, r, r, r}, [%ga]
ld.global.L1::no_allocate.L2::cache_hint.v2.b64 {d, d}, [%ga], d
ld.volatile{,.global,.shared}.u32 r, [A]
ld.weak.global.u32 r, [%ga]
ld.{relaxed,acquire}.{cta,cluster,gpu,sys}{,.global,.shared,.shared::cta,.shared::cluster}.b32 r, [A]
ld.mmio.relaxed.sys.global.u32 r, [%ga]
ldu.global.{u32,f32} r, [%ga]
ldu.global.v4.f32 {r, r, r, r}, [%ga]
st{,.global,.shared,.local}.{b8,u8,s8,b16,u16,s16} [A], h
st{,.global,.shared,.local}.{b8,u8,s8,b16,u16,s16,b32,u32,s32,f32} [A], r
st{,.global,.shared,.local}.{b64,u64,s64,f64} [A], d
st.{global,shared}.b128 [A], q
st.{global,shared,local}.v2.{u8,u16,b32,f32} [A], {r, r}
st.{global,shared,local}.v2.{b64,f64} [A], {d, d}
st.{global,shared,local}.v4.{u8,u16,b32,f32} [A], {r, r, r, r}
st.global{,.wb,.cg,.cs,.wt}.b32 [%ga], r
st.global.L1::no_allocate.L2::cache_hint.b32 [%ga], r, d
st.volatile{,.global,.shared}.u32 [A], r
st.{relaxed,release}.{cta,cluster,gpu,sys}{,.global,.shared,.shared::cta,.shared::cluster}.b32 [A], r
st.mmio.relaxed.sys.global.u32 [%ga], r
prefetch.global.{L1,L2} [%ga]
prefetch.global.{L2::evict_last,L2::evict_normal} [%ga]
prefetchu.L1 [%ga]
prefetch{,.param,.const}.tensormap [%ga]
applypriority.global.L2::evict_normal [%ga], 128
discard.global.L2 [%ga], 128
atom{,.global,.shared}.{and,or,xor}.{b32,b64} X, [A], X
atom{,.global,.shared}.exch.{b32,b64} X, [A], X
atom{,.global,.shared}.cas.{b16,b32,b64} X, [A], X, X
atom{,.global,.shared}.exch.b128 q, [A], q
atom{,.global,.shared}.cas.b128 q, [A], q, q
atom{,.global,.shared}.add.{u32,s32,u64,f32,f64} X, [A], X
atom{,.global,.shared}.{inc,dec}.u32 r, [A], r
atom{,.global,.shared}.{min,max}.{u32,s32,u64,s64} X, [A], X
atom{,.global,.shared}.add.noftz.{f16,bf16} h, [A], h
atom{,.global,.shared}.add.noftz.{f16x2,bf16x2} r, [A], r
atom.{relaxed,acquire,release,acq_rel}.{cta,cluster,gpu,sys}.global.add.u32 r, [%ga], r
atom.global.v2.f32.add {r, r}, [%ga], {r, r}
atom.global.add.v4.f32 {r, r, r, r}, [%ga], {r, r, r, r}
atom.global.{add,min,max}.noftz.v2.{f16,bf16} {h, h}, [%ga], {h, h}
atom.global.{add,min,max}.noftz.v4.{f16x2,bf16x2} {r, r, r, r}, [%ga], {r, r, r, r}
atom.global.add.L2::cache_hint.u32 r, [%ga], r, d
red{,.global,.shared}.{and,or,xor}.{b32,b64} [A], X
red{,.global,.shared}.add.{u32,s32,u64,f32,f64} [A], X
red{,.global,.shared}.{inc,dec}.u32 [A], r
red{,.global,.shared}.{min,max}.{u32,s32,u64,s64} [A], X
red{,.global,.shared}.add.noftz.{f16,bf16} [A], h
red{,.global,.shared}.add.noftz.{f16x2,bf16x2} [A], r
red.{relaxed,release}.{cta,cluster,gpu,sys}.global.add.u32 [%ga], r
red.global.add.v2.f32 [%ga], {r, r}
red.global.add.noftz.v4.bf16x2 [%ga], {r, r, r, r}
membar.{cta,gl,sys}
fence.{sc,acq_rel}.{cta,cluster,gpu,sys}
fence.acquire.sync_restrict::shared::cluster.cluster
fence.release.sync_restrict::shared::cta.cluster
fence.proxy.{alias,async,async.global,async.shared::cta,async.shared::cluster}
fence.mbarrier_init.release.cluster
fence.proxy.tensormap::generic.release.{cta,cluster,gpu,sys}
fence.proxy.tensormap::generic.acquire.{cta,cluster,gpu,sys} [%ga], 128
"""

MEMORY_SM100 = """
ld.global{,.nc}.v8.{b32,f32} {r, r, r, r, r, r, r, r}, [%ga]
ld.global{,.nc}.v4.{b64,f64} {d, d, d, d}, [%ga]
ld.global.nc.L1::no_allocate.L2::evict_first.v8.b32 {r, r, r, r, r, r, r, r}, [%ga]
st.global.v8.{b32,f32} [%ga], {r, r, r, r, r, r, r, r}
st.global.v4.{b64,f64} [%ga], {d, d, d, d}
st.relaxed.cta.global.L1::no_allocate.v8.b32 [%ga], {r, r, r, r, r, r, r, r}
"""

WARP = """
shfl.sync.{up,down,bfly,idx}.b32 r, r, r, r, r
shfl.sync.{up,down,bfly,idx}.b32 r|p, r, 1, 31, -1
vote.sync.ballot.b32 r, p, -1
vote.sync.{all,any,uni}.pred p, !p, -1
match.any.sync.{b32,b64} r, X, -1
match.all.sync.{b32,b64} r|p, X, -1
match.all.sync.b32 r, r, -1
redux.sync.{add,min,max}.{u32,s32} r, r, r
redux.sync.{and,or,xor}.b32 r, r, r
activemask.b32 r
elect.sync r|p, -1
elect.sync _|p, -1
bar.warp.sync -1
bar{,.cta}.sync 0
barrier{,.cta}.sync{,.aligned} 1, 64
bar{,.cta}.arrive 1, 64
barrier.cta.arrive 1, 64
bar.sync r, r
bar{,.cta}.red.popc.u32 r, 0, p
bar{,.cta}.red.{and,or}.pred p, 0, !p
barrier.cta.red.popc{,.aligned}.u32 r, 1, 64, p
barrier.cta.red.{and,or}{,.aligned}.pred p, 1, 64, p
barrier.cluster.arrive{,.release,.relaxed}{,.aligned}
barrier.cluster.wait{,.acquire}{,.aligned}
nanosleep.u32 r
nanosleep.u32 100
griddepcontrol.{launch_dependents,wait}
setmaxnreg.{inc,dec}.sync.aligned.u32 64
pmevent 1
pmevent.mask 3
"""

WARP_SM100 = """
redux.sync.{min,max}{,.abs}{,.NaN}.f32 r, r, r
"""

STACK = """
stacksave.u64 d
stackrestore.u64 d
alloca.u64 d, 64
alloca.u64 d, d, 16
"""

ASYNC = """
cp.async.ca.shared{,::cta}.global{,.L2::64B,.L2::128B,.L2::256B} [%sa], [%ga], {4,8,16}
cp.async.cg.shared.global [%sa], [%ga], 16
cp.async.cg.shared.global [%sa], [%ga], 16, r
cp.async.ca.shared.global.L2::cache_hint [%sa], [%ga], 8, d
cp.async.{commit_group,wait_all}
cp.async.wait_group 1
cp.async.mbarrier.arrive{,.noinc}{,.shared,.shared::cta}.b64 [M]
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes{,.multicast::cluster}{,.L2::cache_hint} [%sa], [%ga], r, [%mb]MC
cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%sa], [%ga], r, [%mb]
cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%sa], [%sa], r, [%mb]
cp.async.bulk.global.shared::cta.bulk_group{,.L2::cache_hint} [%ga], [%sa], rMC
cp.reduce.async.bulk.global.shared::cta.bulk_group.{add,min,max,inc,dec}.u32 [%ga], [%sa], r
cp.reduce.async.bulk.global.shared::cta.bulk_group.{and,or,xor}.b32 [%ga], [%sa], r
cp.reduce.async.bulk.global.shared::cta.bulk_group.add.{s32,u64,f32,f64,noftz.f16,noftz.bf16} [%ga], [%sa], r
cp.reduce.async.bulk.global.shared::cta.bulk_group.{min,max}.{s32,u64,s64,f16,bf16} [%ga], [%sa], r
cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{add,min,max,inc,dec}.u32 [%sa], [%sa], r, [%mb]
cp.async.bulk.prefetch.L2.global [%ga], r
cp.async.bulk.commit_group
cp.async.bulk.wait_group{,.read} 0
cp.async.bulk.tensor.1d.shared::cluster.global{,.tile}.mbarrier::complete_tx::bytes{,.multicast::cluster}{,.L2::cache_hint} [%sa], [%ga, {r}], [%mb]MC
cp.async.bulk.tensor.2d.shared::{cluster,cta}.global{,.tile}.mbarrier::complete_tx::bytes [%sa], [%ga, {r, r}], [%mb]
cp.async.bulk.tensor.5d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%sa], [%ga, {r, r, r, r, r}], [%mb], h
cp.async.bulk.tensor.1d.global.shared::cta{,.tile}.bulk_group{,.L2::cache_hint} [%ga, {r}], [%sa]MC
cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%ga, {r, r, r, r}], [%sa]
cp.async.bulk.prefetch.tensor.3d.L2.global{,.tile} [%ga, {r, r, r}]
cp.reduce.async.bulk.tensor.2d.global.shared::cta.{add,min,max,inc,dec,and,or,xor}.tile.bulk_group [%ga, {r, r}], [%sa]
mbarrier.init{,.shared,.shared::cta}.b64 [M], 1
mbarrier.inval{,.shared,.shared::cta}.b64 [M]
mbarrier.expect_tx.relaxed.cta.shared::{cta,cluster}.b64 [%mb], 16
mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%mb], 16
mbarrier.arrive{,.release.cta}{,.shared,.shared::cta}.b64 d, [M]
mbarrier.arrive.shared.b64 d, [%mb], 2
mbarrier.arrive{,.release.cluster}.shared::cluster.b64 _, [%mb]
mbarrier.arrive.noComplete.shared.b64 d, [%mb], 1
mbarrier.arrive.expect_tx{,.release.cta,.relaxed.cluster}.shared::cta.b64 d, [%mb], 16
mbarrier.arrive_drop{,.expect_tx}.shared.b64 d, [%mb], 1
mbarrier.arrive_drop.noComplete.shared.b64 d, [%mb], 1
mbarrier.{test_wait,try_wait}{,.acquire.cta,.acquire.cluster,.relaxed.cta}.shared::cta.b64 p, [%mb], d
mbarrier.{test_wait,try_wait}.parity{,.acquire.cta}{,.shared,.shared::cta}.b64 p, [M], r
mbarrier.try_wait.parity.shared.b64 p, [%mb], r, r
mbarrier.pending_count.b64 r, d
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.{b32,u32,s32,f32} [%sa], r, [%mb]
st.async.shared::cluster.mbarrier::complete_tx::bytes.v2.b64 [%sa], {d, d}, [%mb]
st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 [%sa], {r, r, r, r}, [%mb]
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{inc,dec,min,max,add}.u32 [%sa], r, [%mb]
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{and,or,xor}.b32 [%sa], r, [%mb]
red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%sa], d, [%mb]
tensormap.replace.tile.global_address{,.global,.shared::cta}.b1024.b64 [A], d
tensormap.replace.tile.rank.global.b1024.b32 [%ga], 1
tensormap.replace.tile.{box_dim,global_dim,element_stride}.shared::cta.b1024.b32 [%sa], 0, r
tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%sa], 0, d
tensormap.replace.tile.{elemtype,interleave_layout,swizzle_mode,fill_mode}.shared::cta.b1024.b32 [%sa], 1
tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%ga], [%sa], 128
"""

ASYNC_SM100 = """
st.bulk{,.weak}.shared::cta [%sa], 128, 0
clusterlaunchcontrol.try_cancel.async{,.shared::cta}.mbarrier::complete_tx::bytes.multicast::cluster::all.b128 [%sa], [%mb]
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%sa], [%mb]
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 p, q
clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {r, r, r, r}, q
clusterlaunchcontrol.query_cancel.get_first_ctaid::{x,y,z}.b32.b128 r, q
"""

ASYNC_TCGEN05 = """
cp.async.bulk.tensor.2d{,.cta_group::1}.shared::cluster.global.tile::gather4.mbarrier::complete_tx::bytes [%sa], [%ga, {r, r, r, r, r}], [%mb]
cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%ga, {r, r, r, r, r}], [%sa]
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.cta_group::1 [%sa], [%ga, {r, r}], [%mb], h
cp.async.bulk.prefetch.tensor.2d.L2.global.tile::gather4 [%ga, {r, r, r, r, r}]
"""

# Accepted by the assembler, but not by the simulator.
LEFT_OUT = """
cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes [%sa], [%ga, {r, r, r}], [%mb], {h}
cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%ga], [%sa], r, h
"""

TCGEN05 = """
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%sa], 32
tcgen05.alloc.cta_group::1.sync.aligned.b32 [%ga], 32
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tm, 32
tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned
tcgen05.ld.sync.aligned.{32x32b,16x64b}.x1.b32 {r}, [%tm]
tcgen05.ld.sync.aligned.{32x32b,16x64b}.x2{,.pack::16b}.b32 {r, r}, [%tm]
tcgen05.ld.sync.aligned.16x128b.x1.b32 {r, r}, [%tm]
tcgen05.ld.sync.aligned.16x256b.x1.b32 {r, r, r, r}, [%tm]
tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {r}, [%tm], 16
tcgen05.st.sync.aligned.32x32b.x2{,.unpack::16b}.b32 [%tm], {r, r}
tcgen05.st.sync.aligned.16x256b.x1.b32 [%tm], {r, r, r, r}
tcgen05.st.sync.aligned.16x32bx2.x1.b32 [%tm], 16, {r}
tcgen05.wait::{ld,st}.sync.aligned
tcgen05.fence::{before,after}_thread_sync
tcgen05.cp.cta_group::1.{128x256b,4x256b,128x128b,64x128b.warpx2::02_13,64x128b.warpx2::01_23,32x128b.warpx4} [%tm], d
tcgen05.cp.cta_group::1.128x256b.b8x16.{b6x16_p32,b4x16_p64} [%tm], d
tcgen05.shift.cta_group::1.down [%tm]
tcgen05.mma.cta_group::1.kind::{f16,tf32,f8f6f4,i8} [%tm], d, d, r, p
tcgen05.mma.cta_group::1.kind::{f16,tf32,f8f6f4,i8} [%tm], [%tm], d, r, p
tcgen05.mma.cta_group::1.kind::f16 [%tm], d, d, r, {r, r, r, r}, p
tcgen05.mma.cta_group::1.kind::f16 [%tm], d, d, r, p, 2
tcgen05.mma.cta_group::1.kind::f16.collector::a::{fill,use,lastuse,discard} [%tm], d, d, r, p
tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale{,.block32,.scale_vec::1X} [%tm], d, d, r, [%tm], [%tm], p
tcgen05.mma.cta_group::1.kind::mxf4.block_scale{,.block32,.scale_vec::2X} [%tm], d, d, r, [%tm], [%tm], p
tcgen05.mma.cta_group::1.kind::mxf4nvf4.block_scale{.block16,.block32,.scale_vec::2X,.scale_vec::4X} [%tm], d, d, r, [%tm], [%tm], p
tcgen05.commit.cta_group::1.mbarrier::arrive::one{,.shared::cluster}.b64 [M]
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%mb], h
"""

TENSOR = """
ldmatrix.sync.aligned.m8n8.x1{,.trans}{,.shared,.shared::cta}.b16 {r}, [A]
ldmatrix.sync.aligned.m8n8.x4{,.trans}.shared.b16 {r, r, r, r}, [%sa]
stmatrix.sync.aligned.m8n8.x1{,.trans}.shared.b16 [%sa], {r}
stmatrix.sync.aligned.m8n8.x4{,.trans}.shared.b16 [%sa], {r, r, r, r}
movmatrix.sync.aligned.m8n8.trans.b16 r, r
mma.sync.aligned.m16n8k16.row.col.f32.{bf16.bf16,f16.f16}.f32 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}
mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}
mma.sync.aligned.m16n8k32.row.col.f32.{e4m3,e5m2}.{e4m3,e5m2}.f32 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}
mma.sync.aligned.m16n8k32.row.col{,.satfinite}.s32.{u8,s8}.{u8,s8}.s32 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}
mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {d, d}, {d}, {d}, {d, d}
mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r}, 1
wmma.load.{a,b}.sync.aligned.{row,col}.{m16n16k16,m8n32k16,m32n8k16}{.global,.shared::cta,}.f16 {r, r, r, r, r, r, r, r}, [A], r
wmma.load.a.sync.aligned.{row,col}.m16n16k16.global.{s8,u8} {r, r}, [%ga], r
wmma.load.{a,b}.sync.aligned.{row,col}.m16n16k8.shared.tf32 {r, r, r, r}, [%sa], r
wmma.load.{a,b}.sync.aligned.{row,col}.m8n8k4.global.f64 {d}, [%ga]
wmma.load.c.sync.aligned.{row,col}.m16n16k16.global.{f32,s32} {r, r, r, r, r, r, r, r}, [%ga], r
wmma.store.d.sync.aligned.{row,col}.{m16n16k16,m8n32k16}.global.f16 [%ga], {r, r, r, r}, r
wmma.mma.sync.aligned.{row,col}.{row,col}.{m16n16k16,m8n32k16,m32n8k16}.f32.f32 {r, r, r, r, r, r, r, r}, {r, r, r, r, r, r, r, r}, {r, r, r, r, r, r, r, r}, {r, r, r, r, r, r, r, r}
wmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 {r, r, r, r, r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r, r, r, r, r}
wmma.mma.sync.aligned.row.col.m16n16k16.s32.{s8.s8,u8.u8}.s32{,.satfinite} {r, r, r, r, r, r, r, r}, {r, r}, {r, r}, {r, r, r, r, r, r, r, r}
wmma.mma.sync.aligned.row.col.m8n8k4{,.rn,.rz,.rm,.rp}.f64.f64.f64.f64 {d, d}, {d}, {d}, {d, d}
wmma.mma.sync.aligned.row.col.m8n8k32.s32.{s4.s4,u4.u4}.s32 {r, r}, {r}, {r}, {r, r}
wmma.mma.{xor,and}.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {r, r}, {r}, {r}, {r, r}
"""

MATRICES_SM100 = """
ldmatrix.sync.aligned.m16n16.x1.trans{,.shared,.shared::cta}.{b8,b8x16.b6x16_p32,b8x16.b4x16_p64} {r, r}, [A]
ldmatrix.sync.aligned.m16n16.x2.trans.shared.{b8,b8x16.b6x16_p32,b8x16.b4x16_p64} {r, r, r, r}, [%sa]
ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.{b6x16_p32,b4x16_p64} {r}, [%sa]
ldmatrix.sync.aligned.m8n16.x2.shared.b8x16.{b6x16_p32,b4x16_p64} {r, r}, [%sa]
ldmatrix.sync.aligned.m8n16.x4.shared.b8x16.{b6x16_p32,b4x16_p64} {r, r, r, r}, [%sa]
stmatrix.sync.aligned.m16n8.x1.trans{,.shared,.shared::cta}.b8 [A], {r}
stmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%sa], {r, r}
stmatrix.sync.aligned.m16n8.x4.trans.shared.b8 [%sa], {r, r, r, r}
"""

TENSOR_SM120 = """
mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f32.{e4m3,e5m2,e3m2,e2m3,e2m1}.{e4m3,e5m2,e3m2,e2m3,e2m1}.f32 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}
mma.sync.aligned.kind::f8f6f4.m16n8k32.row.col.f16.{e4m3,e2m1}.{e5m2,e3m2}.f16 {r, r}, {r, r, r, r}, {r, r}, {r, r}
mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale{,.scale_vec::1X}.f32.{e4m3,e5m2,e3m2,e2m3,e2m1}.{e4m3,e5m2,e3m2,e2m3,e2m1}.f32.ue8m0 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}, r, {3, 1}, r, {2, 3}
mma.sync.aligned.kind::mxf8f6f4.block_scale.scale_vec::1X.m16n8k32.row.col.f32.e4m3.e4m3.f32.ue8m0 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}, {r}, {h, h}, {r}, {h, h}
mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale{,.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}, r, {2, 1}, r, {0, 3}
mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.{scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0,scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3} {r, r, r, r}, {r, r, r, r}, {r, r}, {r, r, r, r}, r, {0, 1}, r, {0, 2}
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f32.{e4m3,e5m2,e3m2,e2m3,e2m1}.{e4m3,e2m1}.f32 {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, r, 0
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::f8f6f4.f16.e2m3.e2m1.f16 {r, r}, {r, r, r, r}, {r, r, r, r}, {r, r}, r, 0
mma.sync.aligned.kind::mxf8f6f4.sp::ordered_metadata.block_scale.scale_vec::1X.m16n8k64.row.col.f32.{e4m3,e2m1}.{e5m2,e3m2}.f32.ue8m0 {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, r, 0, r, {1, 0}, r, {3, 2}
mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.kind::mxf8f6f4.block_scale.scale_vec::1X.f32.e2m3.e2m3.f32.ue8m0 {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r}, 0, {r}, {h, h}, {r}, {h, h}
"""

TENSOR_SM120A = """
mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4.block_scale{,.scale_vec::2X}.f32.e2m1.e2m1.f32.ue8m0 {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, r, 0, r, {2, 0}, r, {0, 1}
mma.sp::ordered_metadata.sync.aligned.m16n8k128.row.col.kind::mxf4nvf4.block_scale.{scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0,scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3} {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, {r, r, r, r}, r, 0, r, {0, 1}, r, {0, 3}
"""

TENSOR_SM90 = """
wgmma.fence.sync.aligned
wgmma.commit_group.sync.aligned
wgmma.wait_group.sync.aligned 0
wgmma.mma_async.sync.aligned.m64n8k16.f32.{bf16.bf16,f16.f16} {r, r, r, r}, d, d, p, 1, 1, 0, 0
wgmma.mma_async.sync.aligned.m64n8k32.f32.{e4m3,e5m2}.{e4m3,e5m2} {r, r, r, r}, d, d, p, 1, 1
wgmma.mma_async.sync.aligned.m64n8k32.f32.e4m3.e4m3 {r, r, r, r}, {r, r, r, r}, d, p, 1, 1
wgmma.mma_async.sync.aligned.m64n8k8.f32.tf32.tf32 {r, r, r, r}, d, d, p, 1, 1
wgmma.mma_async.sync.aligned.m64n8k32{,.satfinite}.s32.{s8,u8}.{s8,u8} {r, r, r, r}, d, d, p
"""

COMMON = ["INTEGER", "VIDEO", "FLOAT", "CONVERT", "COMPARE", "MOVE", "MEMORY",
          "WARP", "STACK", "ASYNC", "TENSOR"]
SETS = {
    "sm_100a": COMMON + ["FLOAT_SM100", "CONVERT_SM100", "CONVERT_STOCHASTIC",
                         "MEMORY_SM100", "WARP_SM100", "ASYNC_SM100",
                         "ASYNC_TCGEN05", "MATRICES_SM100", "TCGEN05",
                         "LEFT_OUT"],
    "sm_90a": COMMON + ["TENSOR_SM90"],
    "sm_120a": COMMON + ["FLOAT_SM100", "CONVERT_SM100", "MEMORY_SM100",
                         "ASYNC_SM100", "MATRICES_SM100", "TENSOR_SM120",
                         "TENSOR_SM120A"],
}

WIDTH = {"pred": "p", "b16": "h", "u16": "h", "s16": "h", "b64": "d",
         "u64": "d", "s64": "d", "f64": "d"}


def expand(pattern):
    """Expands alternatives in the opcode; in operands, only `{a,b}` without spaces."""
    parts = re.split(r"(\{[^ {}]*,[^ {}]*\}|\{[a-z_]+\}(?=[. ]))", pattern)
    choices = [p[1:-1].split(",") if p[:1] == "{" and len(p) > 1 and k % 2
               else [p] for k, p in enumerate(parts)]
    for combination in itertools.product(*choices):
        yield "".join(combination)


def address(opcode):
    for space, register in [("global", "%ga"), ("shared", "%sa"),
                            ("local", "%la"), ("const", "%ca")]:
        if f".{space}" in opcode:
            return register
    return "%ge"


def instruction(text, counter):
    opcode, _, operands = text.partition(" ")
    words = opcode.split(".")
    last = next((w for w in reversed(words) if w in WIDTH), None)
    wide = WIDTH.get(words[-1] if words[-1] in WIDTH else None)
    if words[0] in ("atom", "red", "slct", "match") or wide is None:
        wide = WIDTH.get(last, "r") if last else "r"
    if words[0] == "cvt":
        wide = WIDTH.get(words[-1], "r")
    if words[0] == "slct":
        wide = WIDTH.get(words[-2], "r")
    operands = re.sub(r"\bX\b", wide, operands)
    operands = re.sub(r"\bH\b", "r" if words[-1][1:] == "8" else wide, operands)
    operands = operands.replace("[A]", f"[{address(opcode)}]")
    operands = operands.replace("[M]", "[%mb]" if ".shared" in opcode else "[%gm]")
    extra = (", h" if "multicast" in opcode else "") + \
            (", d" if "cache_hint" in opcode else "")
    operands = operands.replace("MC", extra)

    def register(match):
        counter[0] += 1
        return f"%{match[1]}{counter[0] % 8}"

    operands = re.sub(r"(?<![%\w.])([pbhrdq])(?![\w])", register, operands)
    return f"{opcode} {operands};".replace(" ;", ";")


def instructions(name):
    counter = [0]
    seen = set()
    for line in globals()[name].strip().splitlines():
        opcode, _, operands = line.partition(" ")
        for op in expand(opcode):
            for rest in expand(operands) if "%{" in operands or "{4" in operands else [operands]:
                text = instruction(f"{op} {rest}".strip(), counter)
                if text not in seen:
                    seen.add(text)
                    yield text


PROLOGUE = """{
  .reg .pred %p<8>; .reg .b8 %b<8>; .reg .b16 %h<8>; .reg .b32 %r<8>;
  .reg .b64 %d<8>; .reg .b128 %q<8>;
  .reg .b32 %sa, %mb, %tm; .reg .b64 %ga, %la, %ca, %ge, %gm;
"""


def module(target, only=None):
    out = [".version 9.0", f".target {target}", ".address_size 64",
           ".global .align 16 .b8 gl[64];", ".shared .align 16 .b8 sm[64];"]
    for name in SETS[target]:
        if only and name not in only:
            continue
        out += [f".visible .entry {name}() .maxnreg 128", PROLOGUE.rstrip()]
        out += ["  " + text for text in instructions(name)]
        out += ["  ret;", "}"]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(module(sys.argv[1], sys.argv[2:]), end="")
