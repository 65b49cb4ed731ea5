/* A program written against tridigpu, from the declarations in Klein 2024, Appendix A.1: compiled here as C and, by
 * test_tridigpu_cxx.cu, as CUDA C++. Every function in every precision, on a stream and on the default stream. */
#include <cuComplex.h>
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tridigpu.h>

#ifdef __cplusplus
extern "C"
#endif
    void test_take_shape(void); /* harness.h, which is C only: a smaller device may be asked for */

static int failures, checks, blocks_are_there;

static void fail(const char *precision, const char *what, int line, double number)
{
    printf("line %d: %s %s: %g\n", line, precision, what, number);
    failures++;
}
static void expect(int status, const char *call, int line)
{
    if (!status) return;
    printf("line %d: %s returned %d\n", line, call, status);
    failures++;
}
#define EXPECT(call) expect((int)(call), #call, __LINE__)

static double uniform(void) /* -1 .. 1 */
{
    static unsigned long long state = 1;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) * 0x1p-52 - 1;
}

static void *to_device(const void *from, size_t bytes)
{
    void *to = NULL;
    EXPECT(cudaMalloc(&to, bytes + 1));
    EXPECT(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    return to;
}
static void *from_device(const void *from, size_t bytes)
{
    void *to = malloc(bytes + 1);
    EXPECT(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost));
    return to;
}

#define JOIN(a, b, c) a##b##c
#define JOINED(a, b, c) JOIN(a, b, c)
#define NAME(name) JOINED(name, _, LETTER)
#define CALL(function) JOINED(tridigpu, LETTER, function)

#define LETTER S
#define LETTER_TEXT "S"
#define T float
#define R float
#define EPS 0x1p-23
#define MAKE(re, im) (float)(re)
#define RE(x) (x)
#define IM(x) 0.0f
#include "tridigpu_program.inc"
#define LETTER D
#define LETTER_TEXT "D"
#define T double
#define R double
#define EPS 0x1p-52
#define MAKE(re, im) (re)
#define RE(x) (x)
#define IM(x) 0.0
#include "tridigpu_program.inc"
#define LETTER C
#define LETTER_TEXT "C"
#define T cuComplex
#define R float
#define EPS 0x1p-23
#define MAKE(re, im) make_cuComplex((float)(re), (float)(im))
#define RE(v) (v).x
#define IM(v) (v).y
#include "tridigpu_program.inc"
#define LETTER Z
#define LETTER_TEXT "Z"
#define T cuDoubleComplex
#define R double
#define EPS 0x1p-52
#define MAKE(re, im) make_cuDoubleComplex(re, im)
#define RE(v) (v).x
#define IM(v) (v).y
#include "tridigpu_program.inc"

int main(void)
{
    int devices = 0;
    test_take_shape();
    size_t size = 0;
    cudaStream_t streams[2] = {NULL, NULL};
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
        printf("no CUDA device\n");
        return 77;
    }
    blocks_are_there =
        tridigpuDbgtsv_bufferSizeExt(TRIDIGPU_DEFAULT_PIVOTING, 4, 1, 2, &size) != TRIDIGPU_STATUS_NOT_SUPPORTED;
    if (!blocks_are_there) printf("this libtrine has no block solves on the GPU\n");
    EXPECT(cudaStreamCreate(&streams[1]));
    for (int k = 0; k < 2; k++)
        test_all_S(streams[k]), test_all_D(streams[k]), test_all_C(streams[k]), test_all_Z(streams[k]);
    if (tridigpuSgtsv_bufferSizeExt(TRIDIGPU_DEFAULT_PIVOTING, -1, 1, &size) == 0)
        fail("S", "a negative N was accepted", __LINE__, 0);
    if (tridigpuSgtsv_bufferSizeExt((tridigpu_pivoting_t)9, 4, 1, &size) == 0)
        fail("S", "pivoting scheme 9 was accepted", __LINE__, 0);
    if (tridigpuSgtsv_bufferSizeExt(TRIDIGPU_DEFAULT_PIVOTING, 4, 1, NULL) == 0)
        fail("S", "a NULL size was accepted", __LINE__, 0);
    cudaStreamDestroy(streams[1]);
    printf("%d checks, %d failures\n", checks, failures);
    return failures > 0;
}
