/* The sums of look.cuh. */
#ifndef TRINE_PRECOND_CUDA_LOOK_H
#define TRINE_PRECOND_CUDA_LOOK_H

/** Rows without an entry on the diagonal; of diagp1(A)^-1 A the sums of absolute values on the diagonal, on it and the
 *  two largest others of each row, and of all; y and its squares; squares of the entries of each row. */
enum { LOOK_MISSING, LOOK_DIAGONAL, LOOK_NEAR, LOOK_ALL, LOOK_RATIO, LOOK_SQUARE, LOOK_LENGTH, LOOK_SUMS };
/** Sums are made of so many parts, in one order. */
enum { LOOK_PARTS = 512 };

#endif
