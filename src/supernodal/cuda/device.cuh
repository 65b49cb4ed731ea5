/* What the GPU sources of the supernodal solve share: the plan on the device, waiting and signalling, loads of
 * panels. */
#ifndef TRINE_SUPERNODAL_CUDA_DEVICE_CUH
#define TRINE_SUPERNODAL_CUDA_DEVICE_CUH

#include "core/gpu_scalar.cuh"
#include "supernodal/common/levels.h"
#include "supernodal/cuda/schedule.h"

/** Where the values of one of the caller's panels go. */
struct source_panel {
    int64_t values, rows;
    int32_t target, column, width, height;
};

enum { FORWARD, BACKWARD, DIRECTIONS };
enum { ONE, MANY, MODES }; /* right-hand sides */

/** One direction of the level-by-level variants: slices in device memory, launches in host memory. */
struct level_side {
    supernodal_slice *slices;
    supernodal_launch *launches;
    int64_t n_launches;
};

/** One direction of the SpMV variant: sparse lines (common/levels.h), and the entries that numeric finds not to be
 *  zero. */
struct sparse_side {
    int32_t *targets, *own, *index;
    int64_t *run_start, *start; /* of a line: its runs; its entries */
    supernodal_run *runs;
    void *values;
    int64_t n_lines;
};

/** Panels have a grade by what their inverses leave in the trial, the higher the less (growth.cu). */
enum { GRADES = 4 };
/** What the trial of inverses came to. */
struct growth_outcome {
    unsigned long long norms[2];                    /* bits of the largest row and column sum of moduli, */
    unsigned long long forward[GRADES];             /* of the largest residual with L of all panels of this grade and
                                                       higher ones, */
    unsigned long long backward[GRADES];            /* and with L^T of the panels of this grade */
    unsigned panels[GRADES];                        /* how many have it */
    double growth;
    int32_t least_grade;                            /* panels of a lower one are substituted: their values are L's
                                                       own. 0: none, else solves go by the second schedule */
    int32_t substituted;                            /* how many are */
};
/** Which panels are substituted; NULL: there is no choice. */
struct panel_choice {
    const unsigned char *grades;
    const int32_t *least_grade;
    __device__ bool substitutes(int32_t panel) const { return grades[panel] < *least_grade; }
};

/** Tiles of the one-launch solve. */
struct schedule_side {
    supernodal_tile *tiles[DIRECTIONS][MODES];
    int64_t n_tickets[DIRECTIONS][MODES];
    int32_t *owners[DIRECTIONS][MODES];     /* of tiles of both ways; else NULL */
    int32_t *rows;                          /* of the panels that its tiles belong to; NULL: the plan's. */
    int64_t n_panels, n_rows;               /* Their numbers: the plan's, or of parts of them */
    supernodal_gathering gathering;         /* TRINE_ACCESS_PULL */
};
enum { SCHEDULES = 2 };                     /* the second: tiles of both ways, where the plan chooses */

/** A plan's part in device memory. */
struct device_side {
    supernodal_panel *panels;
    source_panel *sources;
    int32_t *rows, *original, *source_rows;
    supernodal_job *jobs;
    int n_stages;
    int64_t stages[80];
    schedule_side schedules[SCHEDULES];
    int64_t n_init[MODES], n_source_values;
    level_side levels[DIRECTIONS];
    sparse_side sparse[DIRECTIONS];         /* TRINE_VARIANT_SPMV */
    int64_t *segment_start;
    supernodal_segment *segments;
    unsigned *bad_row;                      /* and behind it 0 if a value was beyond single precision */
    supernodal_job *trial_jobs;             /* of the caller's panels, then of the plan's */
    int64_t n_trial_jobs[2];
    void *trial;                            /* vectors */
    growth_outcome *outcome;
    unsigned char *grades;                  /* of panels */
};

/** What stands at the head of a work's buffer, once for each direction and mode; the arrays follow it. */
struct solve_state { unsigned ticket, finished_blocks, solves, unused[29]; };

template <typename T> struct wider { using type = T; };
template <> struct wider<float> { using type = double; };
template <> struct wider<complex_of<float>> { using type = complex_of<double>; };
template <typename T> using wide_of = typename wider<T>::type;

template <typename T> struct solve_args {
    const supernodal_tile *tiles;
    const int32_t *rows, *original;
    const T *values;
    const void *B;                  /* of the caller's dtype, as is X */
    void *X;
    T *t, *x;                       /* blocks of right-hand sides, each n x width; one right-hand side: see
                                       solve_one.cu */
    T *updates; /* pulled forward solves: the products' n_rows x width for each block; else NULL */
    const int64_t *gather_start;
    const int32_t *gather_places;
    int64_t b_row, b_col, x_row, x_col, n, n_rows, nrhs;
    solve_state *state;
    unsigned *epochs, *counters; /* epochs: one a block of right-hand sides; counters: n_counters for each */
    int32_t n_panels, n_counters, n_init, n_tickets, n_blocks;
    T alpha;
    bool conjugate;
    bool converts; /* T is single, B and X are double: columns of B are rounded to T times powers of two, */
    const unsigned long long *largest;    /* by the bits of each one's largest number, and alpha, */
    wide_of<T> given_alpha;               /* times the solution in double. (alpha is not used) */
};

/** A schedule of both ways: owners of its tiles and of places (schedule.h). */
struct way_args {
    const int32_t *tile_owners, *gather_owners;
    panel_choice panels;
};

/** What a solve is launched with: the second, of both ways, if *ways.panels.least_grade is not 0. NULL: there is no
 *  choice. */
template <typename T> struct solve_choice {
    solve_args<T> schedules[SCHEDULES];
    way_args ways;
};

template <typename T, typename W> __device__ inline T scalar_from(W a)
{
    if constexpr (scalar<T>::is_complex) return {static_cast<real_of<T>>(a.x), static_cast<real_of<T>>(a.y)};
    else return static_cast<T>(a);
}
/** Entry `at` of a caller's array of T, or of what is wider if `converts`. */
template <typename T> __device__ inline T load_converted(const void *from, int64_t at, bool converts)
{
    return converts ? scalar_from<T>(static_cast<const wide_of<T> *>(from)[at]) : static_cast<const T *>(from)[at];
}
/** The power of two of the largest number of column j of B, or its inverse, with which that is 1 to 2; 1 where it is
 *  not finite. */
__device__ inline double column_power(const unsigned long long *largest, int64_t j, bool inverse)
{
    const int exponent = (int)(largest[j] >> 52);
    const int within = exponent == 2047 ? 1023 : min(max(exponent, 1), 2045);
    return __hiloint2double((inverse ? 2046 - within : within) << 20, 0);
}
template <typename W> __device__ inline W times_real(W a, double factor)
{
    if constexpr (scalar<W>::is_complex) return {a.x * factor, a.y * factor};
    else return a * factor;
}
template <typename T> inline constexpr bool is_single = sizeof(real_of<T>) == sizeof(float);

/** Row `row` of the plan's numbering of alpha op(B) column j, and the solution on its way out. */
template <typename T> __device__ inline T right_hand_side(const solve_args<T> &a, int64_t row, int64_t j)
{
    using W = wide_of<T>;
    const int64_t at = a.original[row] * a.b_row + j * a.b_col;
    const T value = is_single<T> && a.converts
                        ? scalar_from<T>(times_real(static_cast<const W *>(a.B)[at], column_power(a.largest, j, true)))
                        : a.alpha * static_cast<const T *>(a.B)[at];
    return a.conjugate ? conjugate_of(value) : value;
}
template <typename T> __device__ inline wide_of<T> solution(const solve_args<T> &a, int64_t j, T value)
{
    const wide_of<T> result = times_real(scalar_from<wide_of<T>>(value), column_power(a.largest, j, false));
    if constexpr (scalar<T>::is_complex)
        return a.given_alpha.y == 0 ? times_real(result, a.given_alpha.x) : a.given_alpha * result;
    else return a.given_alpha * result;
}
template <typename T> __device__ inline void store_at(const solve_args<T> &a, int64_t original, int64_t j, T value)
{
    const int64_t at = original * a.x_row + j * a.x_col;
    if (a.conjugate) value = conjugate_of(value);
    if (is_single<T> && a.converts) static_cast<wide_of<T> *>(a.X)[at] = solution(a, j, value);
    else static_cast<T *>(a.X)[at] = value;
}

/** Right-hand sides that one pass over the panels takes, for up to nrhs of them: what work vectors are interleaved
 *  by. */
inline int supernodal_block_width(size_t element, int64_t nrhs)
{
    return nrhs == 1 ? 1 : nrhs <= 8 ? 8 : element == 16 ? 16 : 32;
}

/** Bits of the largest |number| of each column of B, double, for solves that convert (columns.cu). */
trine_status supernodal_column_maxima(trine_supernodal plan, const trine_dense *B, unsigned long long *largest,
                                      void *stream);
/** All launches of a new set of values: copy, invert (numeric.cu). */
template <typename T> trine_status supernodal_numeric_on_gpu(trine_supernodal plan, const void *from, void *stream);
/** The trial of inverses (growth.cu): before the inversion, and after it; `from`: the caller's values. */
size_t supernodal_trial_bytes(trine_supernodal plan);
template <typename T> trine_status supernodal_trial_begin(trine_supernodal plan, const void *from, void *stream);
template <typename T> trine_status supernodal_trial_end(trine_supernodal plan, const void *from, void *stream);
/** The solve's launch, with one right-hand side (solve_one.cu) or blocks of them (solve_many.cu). */
template <typename T> trine_status supernodal_solve_one(trine_supernodal plan, const solve_choice<T> &a, bool forward,
                                                        void *stream);
template <typename T> trine_status supernodal_solve_many(trine_supernodal plan, const solve_choice<T> &a, bool forward,
                                                         void *stream);
/** The SpMV variant (lines.cu): entries from the panels, at the end of numeric; one launch of a solve. */
template <typename T> trine_status supernodal_lines_numeric(trine_supernodal plan, void *stream);
template <typename T>
trine_status supernodal_launch_lines(trine_supernodal plan, const supernodal_launch *l, int direction, T *t, T *x,
                                     int64_t nrhs, void *stream);
/** Level by level (levels.cu): streams and graphs of a work, whose vectors are t and x; the launches. */
template <typename T> trine_status supernodal_levels_work_init(trine_supernodal plan, supernodal_work *work, T *t,
                                                               T *x);
void supernodal_levels_work_free(trine_context ctx, supernodal_work *work);
template <typename T>
trine_status supernodal_solve_levels(trine_supernodal plan, const solve_args<T> &a, int direction,
                                     supernodal_work *work, void *stream);

/** As many scalars as one 16-byte load brings. */
template <typename T> struct alignas(16) pack { T e[16 / sizeof(T)]; };

template <typename T> __device__ inline pack<T> load_pack(const T *p)
{
    union {
        uint4 raw;
        pack<T> values;
    } u;
    u.raw = load_once((const uint4 *)p);
    return u.values;
}
/** From L2, where other multiprocessors' results are. */
__device__ inline float load_shared_result(const float *p) { return __ldcg(p); }
__device__ inline double load_shared_result(const double *p) { return __ldcg(p); }
__device__ inline complex_of<float> load_shared_result(const complex_of<float> *p)
{
    const float2 a = __ldcg(reinterpret_cast<const float2 *>(p));
    return {a.x, a.y};
}
__device__ inline complex_of<double> load_shared_result(const complex_of<double> *p)
{
    const double2 a = __ldcg(reinterpret_cast<const double2 *>(p));
    return {a.x, a.y};
}
template <typename T> __device__ inline void subtract_atomically(T *p, T a) { add_atomically(p, zero_of<T>() - a); }
template <typename R> __device__ inline void multiply_add(R &sum, R a, R b) { sum = fma(a, b, sum); }
template <typename R> __device__ inline void multiply_add(complex_of<R> &sum, complex_of<R> a, complex_of<R> b)
{
    sum.x = fma(a.x, b.x, fma(-a.y, b.y, sum.x));
    sum.y = fma(a.x, b.y, fma(a.y, b.x, sum.y));
}

/** Barrier of the GROUP threads that share a tile. */
template <int GROUP> __device__ inline void meet()
{
    if constexpr (GROUP == 32) __syncwarp();
    else __syncthreads();
}

/** Wait until what the tile depends on is done, if it depends on a counter. Counters grow by `expected` in every
 *  solve: they stand at exactly (solves before this one + 1) * expected, modulo 2^32, when this solve's share is
 *  complete. */
template <int GROUP, typename T> __device__ inline void wait_for(const solve_args<T> &a, const supernodal_tile &tile,
                                                                 int block, int thread)
{
    if (tile.wait < 0) return;
    if (thread == 0) {
        const unsigned *counter = a.counters + (int64_t)block * a.n_counters + tile.wait;
        const unsigned target = (a.epochs[block] + 1) * tile.expected;
        while (load_acquire(counter) != target) {}
    }
    meet<GROUP>();
}

template <int GROUP, typename T> __device__ inline void signal_done(const solve_args<T> &a, int32_t counter, int block,
                                                                    int thread)
{
    if (counter < 0) return;
    meet<GROUP>(); /* and the release makes everyone's results visible before the count */
    if (thread == 0) add_release(a.counters + (int64_t)block * a.n_counters + counter, 1);
}
/** Whether a tile of a schedule of both ways is of the one that its panel does not go; it then signals at once, so
 *  that counters grow by as much whatever is chosen. thread: of the block. */
template <typename T>
__device__ inline bool passed_over(const solve_args<T> &a, const way_args &ways, const supernodal_tile &tile,
                                   int64_t at, int block, int thread)
{
    const int32_t owner = ways.tile_owners[at];
    const bool whole = owner < 0;
    if (tile.kind != TILE_NONE && ways.panels.substitutes(whole ? ~owner : owner) != whole) return false;
    if (tile.kind != TILE_NONE && tile.signal >= 0 && (tile.wide ? thread : thread % 32) == 0)
        add_release(a.counters + (int64_t)block * a.n_counters + tile.signal, 1);
    return true;
}
/** -value for `row` of t from place `place`: added at once, or left for assemble. */
template <int WIDTH, typename T> __device__ inline void update(const solve_args<T> &a, T *t, int block, int32_t row,
                                                               int64_t place, int j, T value)
{
    if (a.updates) a.updates[((int64_t)block * a.n_rows + place) * WIDTH + j] = value;
    else subtract_atomically(t + ((int64_t)block * a.n + row) * WIDTH + j, value);
}

/** Lanes lane % WIDTH of a warp: what products have left for a row of right-hand side lane % WIDTH, in a fixed
 *  order. */
template <int WIDTH, bool BOTH_WAYS, typename T> __device__ inline T
gathered(const solve_args<T> &a, const way_args &ways, int64_t row, int block, int lane)
{
    const T *updates = a.updates + (int64_t)block * a.n_rows * WIDTH + lane % WIDTH;
    T sum = zero_of<T>();
    for (int64_t k = a.gather_start[row] + lane / WIDTH; k < a.gather_start[row + 1]; k += 32 / WIDTH) {
        if (BOTH_WAYS && ways.gather_owners[k] >= 0 && !ways.panels.substitutes(ways.gather_owners[k])) continue;
        sum = sum + load_shared_result(updates + (int64_t)a.gather_places[k] * WIDTH);
    }
    for (int mask = WIDTH; mask < 32; mask *= 2) sum = sum + shuffle_xor(sum, mask);
    return sum;
}

/** Of a block, whichever schedule it goes by. */
__device__ inline int *ticket_room()
{
    __shared__ int ticket;
    return &ticket;
}
/** The next ticket of a block whose thread 0 holds it in `next`, which it then refills ahead of need. Every thread
 *  calls. */
__device__ inline int take_ticket(solve_state *state, int *shared_ticket, unsigned &next, int all_tickets)
{
    __syncthreads();
    if (threadIdx.x == 0) *shared_ticket = (int)next;
    __syncthreads();
    const int ticket = *shared_ticket;
    /* arrives while this one is worked on */
    if (threadIdx.x == 0 && ticket < all_tickets) next = atomicAdd(&state->ticket, 1u);
    return ticket;
}

/** The last block to leave makes the state ready for the next solve. */
template <typename T> __device__ inline void leave(const solve_args<T> &a)
{
    /* every block has its last ticket */
    if (threadIdx.x == 0 && atomicAdd(&a.state->finished_blocks, 1u) == gridDim.x - 1) {
        a.state->ticket = 0;
        a.state->finished_blocks = 0;
        a.state->solves++;
        for (int b = 0; b < a.n_blocks; b++) a.epochs[b]++;
    }
}

/** As many blocks as are resident at once, or as there are tickets. */
template <typename T>
inline trine_status launch_tickets(trine_supernodal plan, void (*kernel)(const solve_choice<T>), int per_multiprocessor,
                                   const solve_choice<T> &a, void *stream, int shared_bytes = 0)
{
    const solve_args<T> *const s = a.schedules;
    const int64_t tickets =
        ((int64_t)s[0].n_init + (s[0].n_tickets > s[1].n_tickets ? s[0].n_tickets : s[1].n_tickets)) * s[0].n_blocks;
    const int64_t resident =
        plan->options.teams ? plan->options.teams : (int64_t)per_multiprocessor * plan->base.ctx->info.multiprocessors;
    kernel<<<(unsigned)(tickets < resident ? tickets : resident), SUPERNODAL_BLOCK_THREADS, (size_t)shared_bytes,
             static_cast<gpuStream_t>(stream)>>>(a);
    return GPU_LAUNCHED("the supernodal solve");
}

#endif
