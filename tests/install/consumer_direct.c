/* Outside program on the optional library. */
#include <stdio.h>
#include <trine/direct.h>

int main(void)
{
    printf("trine-direct: %s\n", trine_direct_method_name(TRINE_DIRECT_CHOLESKY));
    return 0;
}
