/* Matrix instructions of a warp: their operands as decoded, and their execution. */
#ifndef NVM_SIM_MACHINE_MATRIX_H
#define NVM_SIM_MACHINE_MATRIX_H

#include "sim/machine/machine.h"

enum matrix_operand { MATRIX_A, MATRIX_B, MATRIX_C, MATRIX_D, MATRIX_COUNT };

struct matrix_part {
  uint16_t type;
  uint8_t bits; /* of an element */
  uint32_t rows, cols;
  const uint32_t *regs; /* rows of the machine */
  uint32_t count;
};

struct matrix {
  uint32_t m, n, k;
  struct matrix_part part[MATRIX_COUNT];
  bool wmma, m64, satfinite, is_and; /* m64: wgmma */
  /* m8n8k4 of f16: four products, each of the lanes 4q … 4q + 3 and 4q + 16 … 4q + 19 */
  bool quads, a_by_columns, b_by_rows;
  uint32_t quad;
  /* wgmma: */
  uint32_t descriptors[2]; /* rows; NO_ROW: in registers */
  bool transposed[2];      /* rows of a, columns of b are contiguous, not k */
  bool negated, keeps_negated;
  uint32_t keeps;       /* a predicate: the accumulators are added */
  uint64_t where[2];    /* values of the descriptors */
  uint32_t row, column; /* of the part that is computed */
  bool from_zero;
};

inst_run matrix_mma, matrix_wgmma, matrix_wgmma_commit;
/* imm: groups that may still be going. */
inst_run matrix_wgmma_wait;
/* wmma.load, wmma.store (flags) of part MATRIX_D. imm: offset of the address; is_signed: by
 * columns; bits2: elements that one of the part holds, if they are smaller than a byte. */
inst_run matrix_fragment;
/* ldmatrix, stmatrix (flags): `count` matrices of 8 rows of 8 elements of 16 bits in rows[1 …];
 * lane 8 * q + r has the address of row r of matrix q; is_signed: transposed. */
inst_run matrix_rows;
inst_run matrix_transpose;

#endif
