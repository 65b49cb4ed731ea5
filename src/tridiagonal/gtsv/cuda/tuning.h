/* The sizes of gtsv's kernels for each element type: written by tools/tune-tridiagonal
 * from bench/results/tuning/tridiag-h200.jsonl. */
#ifndef TRINE_TRIDIAGONAL_GTSV_CUDA_TUNING_H
#define TRINE_TRIDIAGONAL_GTSV_CUDA_TUNING_H

#include "core/gpu_scalar.cuh"

/** COLUMNS: right-hand sides that are kept on chip together, where there are several. SHORT_ROWS, LONG_ROWS: rows of
 *  a lane where a system is short, and in the two passes, for one right-hand side; ..._MANY: for COLUMNS of them.
 *  SHORT_WARPS: warps of a block where a system is short, as long as the cluster may have more blocks. */
template <typename T> struct tuned;
template <> struct tuned<float> {
    static constexpr int COLUMNS = 4, SHORT_ROWS = 8, SHORT_ROWS_MANY = 8, SHORT_WARPS = 4, LONG_ROWS = 32,
                         LONG_ROWS_MANY = 32;
};
template <> struct tuned<double> {
    static constexpr int COLUMNS = 4, SHORT_ROWS = 8, SHORT_ROWS_MANY = 8, SHORT_WARPS = 1, LONG_ROWS = 16,
                         LONG_ROWS_MANY = 16;
};
template <> struct tuned<complex_of<float>> {
    static constexpr int COLUMNS = 4, SHORT_ROWS = 8, SHORT_ROWS_MANY = 8, SHORT_WARPS = 4, LONG_ROWS = 16,
                         LONG_ROWS_MANY = 16;
};
template <> struct tuned<complex_of<double>> {
    static constexpr int COLUMNS = 4, SHORT_ROWS = 4, SHORT_ROWS_MANY = 4, SHORT_WARPS = 1, LONG_ROWS = 8,
                         LONG_ROWS_MANY = 8;
};
template <typename T, int NR> constexpr int SHORT = NR == 1 ? tuned<T>::SHORT_ROWS : tuned<T>::SHORT_ROWS_MANY;
template <typename T, int NR> constexpr int LONG = NR == 1 ? tuned<T>::LONG_ROWS : tuned<T>::LONG_ROWS_MANY;

#endif
