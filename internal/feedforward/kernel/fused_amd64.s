#include "textflag.h"

#define BROADCAST VBROADCASTSS
#define FMA VFMADD231PS
#define WEIGHT 4
#define TILE512 ·tile512s
#define TILE256 ·tile256s
#include "tile_amd64.h"

#undef BROADCAST
#undef FMA
#undef WEIGHT
#undef TILE512
#undef TILE256
#undef FOUR
#undef MOVE
#undef LOAD
#undef STORE
#undef PLACE
#undef THREE
#undef MOVE256
#define BROADCAST VBROADCASTSD
#define FMA VFMADD231PD
#define WEIGHT 8
#define TILE512 ·tile512d
#define TILE256 ·tile256d
#include "tile_amd64.h"

#define SUMS \
	VMOVUPS       (SI), Z0; \
	VCMPPS        $14, Z1, Z0, K1; \
	VCMPPS        $4, Z1, Z0, K2; \
	KSHIFTRW      $8, K1, K3; \
	KSHIFTRW      $8, K2, K4; \
	VEXTRACTF64X4 $1, Z0, Y4; \
	VCVTPS2PD     Y0, Z3; \
	VCVTPS2PD     Y4, Z4; \
	VBROADCASTSD  16(BX), Z5; \
	VMOVAPD       Z5, Z6; \
	VBROADCASTSD  8(BX), K1, Z5; \
	VBROADCASTSD  8(BX), K3, Z6; \
	VMULPD        Z5, Z3, Z3; \
	VMULPD        Z6, Z4, Z4; \
	VADDPD        Z3, Z8, K2, Z8; \
	VADDPD        Z4, Z9, K4, Z9

#define CLOSE \
	VMOVUPD Z8, (DX); \
	VMOVUPD Z9, 64(DX); \
	VZEROUPPER; \
	RET

// func sums512(sums *[width]float64, g []rowLane, lines []bend)
TEXT ·sums512(SB), NOSPLIT, $0-56
	MOVQ    sums+0(FP), DX
	MOVQ    g_base+8(FP), SI
	MOVQ    lines_base+32(FP), BX
	MOVQ    lines_len+40(FP), CX
	VXORPS  X1, X1, X1
	VMOVUPD (DX), Z8
	VMOVUPD 64(DX), Z9

next:
	SUMS
	ADDQ $64, SI
	ADDQ $24, BX
	DECQ CX
	JNZ  next
	CLOSE

// func bends512(sums *[width]float64, g []rowLane, lines []bend, gin []rowLane, fresh bool)
TEXT ·bends512(SB), NOSPLIT, $0-81
	MOVQ    sums+0(FP), DX
	MOVQ    g_base+8(FP), SI
	MOVQ    lines_base+32(FP), BX
	MOVQ    lines_len+40(FP), CX
	VXORPS  X1, X1, X1
	VMOVUPD (DX), Z8
	VMOVUPD 64(DX), Z9
	MOVQ gin_base+56(FP), DI
	MOVBLZX fresh+80(FP), AX
	KXNORW K5, K5, K5
	CMPQ AX, $0
	JEQ  next
	KXORW K5, K5, K5 // nothing is read of gin

next:
	SUMS
	VBROADCASTSS 4(BX), Z2
	VBROADCASTSS (BX), K1, Z2
	VMOVUPS.Z    (DI), K5, Z7
	VFMADD213PS  Z7, Z0, Z2
	VMOVUPS      Z2, (DI)
	ADDQ         $64, SI
	ADDQ         $64, DI
	ADDQ         $24, BX
	DECQ         CX
	JNZ          next
	CLOSE

// func dots512(sums *[3]lane, w, c, r, m []float64)
TEXT ·dots512(SB), NOSPLIT, $0-104
	MOVQ         sums+0(FP), DI
	MOVQ         w_base+8(FP), R8
	MOVQ         w_len+16(FP), CX
	MOVQ         c_base+32(FP), R9
	MOVQ         r_base+56(FP), R10
	MOVQ         m_base+80(FP), R11
	SHRQ         $3, CX
	XORQ         AX, AX
	VPTERNLOGQ   $255, Z7, Z7, Z7
	VPSRLQ       $1, Z7, Z7 // all bits but the sign
	VPXORQ       Z0, Z0, Z0
	VPXORQ       Z1, Z1, Z1
	VPXORQ       Z2, Z2, Z2

next:
	VMOVUPD      (R8)(AX*1), Z3
	VANDPD       Z7, Z3, Z4
	VFMADD231PD  (R9)(AX*1), Z3, Z0
	VFMADD231PD  (R10)(AX*1), Z4, Z1
	VFMADD231PD  (R11)(AX*1), Z4, Z2
	ADDQ         $64, AX
	DECQ         CX
	JNZ          next
	VMOVUPD      Z0, (DI)
	VMOVUPD      Z1, 64(DI)
	VMOVUPD      Z2, 128(DI)
	VZEROUPPER
	RET
