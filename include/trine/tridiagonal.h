/* Tridiagonal, block tridiagonal and banded solves by recursive partitioned Schur complements. */
#ifndef TRINE_TRIDIAGONAL_H
#define TRINE_TRIDIAGONAL_H

#include <trine/core.h>

#endif
