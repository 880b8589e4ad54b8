// A tile is six channels by four places, each with 64 bytes of lanes; sums stay in registers. Products of a sum are
// added in their order, each by one rounding. BROADCAST, FMA and WEIGHT, the bytes of a weight, say the precision.

#define FOUR(mem, w, a, b, c, d) \
	BROADCAST mem, w; \
	FMA  Z24, w, a; \
	FMA  Z25, w, b; \
	FMA  Z26, w, c; \
	FMA  Z27, w, d

#define MOVE(op) \
	op(0, Z0); op(64, Z1); op(128, Z2); op(192, Z3); op(256, Z4); op(320, Z5); op(384, Z6); op(448, Z7); \
	op(512, Z8); op(576, Z9); op(640, Z10); op(704, Z11); op(768, Z12); op(832, Z13); op(896, Z14); op(960, Z15); \
	op(1024, Z16); op(1088, Z17); op(1152, Z18); op(1216, Z19); op(1280, Z20); op(1344, Z21); op(1408, Z22); \
	op(1472, Z23)

#define LOAD(at, z) VMOVUPS at(DI), z
#define STORE(at, z) VMOVUPS z, at(DI)

#define PLACE(at, to) \
	MOVQ at(BX), to; \
	SHLQ $6, to; \
	ADDQ SI, to

TEXT TILE512(SB), NOSPLIT, $0-88
	MOVQ sums+0(FP), DI
	MOVQ x_base+8(FP), SI
	MOVQ w_base+32(FP), DX
	MOVQ taps_base+56(FP), BX
	MOVQ taps_len+64(FP), CX
	MOVE(LOAD)

tap:
	PLACE(0, R8)
	PLACE(8, R9)
	PLACE(16, R10)
	PLACE(24, R11)
	MOVQ 32(BX), R12
	LEAQ (DX)(R12*WEIGHT), R12
	MOVQ k+80(FP), R13
	XORQ AX, AX

product:
	VMOVUPS (R8)(AX*1), Z24
	VMOVUPS (R9)(AX*1), Z25
	VMOVUPS (R10)(AX*1), Z26
	VMOVUPS (R11)(AX*1), Z27
	FOUR(0*WEIGHT(R12), Z28, Z0, Z1, Z2, Z3)
	FOUR(1*WEIGHT(R12), Z29, Z4, Z5, Z6, Z7)
	FOUR(2*WEIGHT(R12), Z30, Z8, Z9, Z10, Z11)
	FOUR(3*WEIGHT(R12), Z31, Z12, Z13, Z14, Z15)
	FOUR(4*WEIGHT(R12), Z28, Z16, Z17, Z18, Z19)
	FOUR(5*WEIGHT(R12), Z29, Z20, Z21, Z22, Z23)
	ADDQ $64, AX
	ADDQ $(6*WEIGHT), R12
	DECQ R13
	JNZ  product
	ADDQ $40, BX
	DECQ CX
	JNZ  tap
	MOVE(STORE)
	VZEROUPPER
	RET

#define THREE(at, a, b, c) \
	VMOVUPS     (at)(AX*1), Y15; \
	FMA Y15, Y12, a; \
	FMA Y15, Y13, b; \
	FMA Y15, Y14, c

#define MOVE256(op) \
	op(0, Y0); op(64, Y1); op(128, Y2); op(192, Y3); op(256, Y4); op(320, Y5); op(384, Y6); op(448, Y7); \
	op(512, Y8); op(576, Y9); op(640, Y10); op(704, Y11)

// Half of the rows and three channels at a time.
TEXT TILE256(SB), NOSPLIT, $0-88
	XORQ R15, R15 // the first channel: 0, 3

channels:
	XORQ R14, R14 // half of the rows in bytes: 0, 32

half:
	MOVQ sums+0(FP), DI
	ADDQ R14, DI
	MOVQ R15, AX
	SHLQ $8, AX // sums of a channel
	ADDQ AX, DI
	MOVQ x_base+8(FP), SI
	ADDQ R14, SI
	MOVQ w_base+32(FP), DX
	LEAQ (DX)(R15*WEIGHT), DX
	MOVQ taps_base+56(FP), BX
	MOVQ taps_len+64(FP), CX
	MOVE256(LOAD)

tap:
	PLACE(0, R8)
	PLACE(8, R9)
	PLACE(16, R10)
	PLACE(24, R11)
	MOVQ 32(BX), R12
	LEAQ (DX)(R12*WEIGHT), R12
	MOVQ k+80(FP), R13
	XORQ AX, AX

product:
	BROADCAST 0*WEIGHT(R12), Y12
	BROADCAST 1*WEIGHT(R12), Y13
	BROADCAST 2*WEIGHT(R12), Y14
	THREE(R8, Y0, Y4, Y8)
	THREE(R9, Y1, Y5, Y9)
	THREE(R10, Y2, Y6, Y10)
	THREE(R11, Y3, Y7, Y11)
	ADDQ $64, AX
	ADDQ $(6*WEIGHT), R12
	DECQ R13
	JNZ  product
	ADDQ $40, BX
	DECQ CX
	JNZ  tap
	MOVE256(STORE)
	ADDQ $32, R14
	CMPQ R14, $64
	JLT  half
	ADDQ $3, R15
	CMPQ R15, $6
	JLT  channels
	VZEROUPPER
	RET
