/* trine: sparse products, triangular, tridiagonal and direct solves on CPUs and GPUs. Includes every header of
 * libtrine; direct.h belongs to the optional library libtrine_direct and is included by itself. */
#ifndef TRINE_TRINE_H
#define TRINE_TRINE_H
#include <trine/core.h>
#include <trine/matrix.h>
#include <trine/operator.h>
#include <trine/triangular.h>
#include <trine/supernodal.h>
#include <trine/tridiagonal.h>
#include <trine/tridiagonal_plan.h>
#include <trine/spmv.h>
#include <trine/forest.h>
#include <trine/precond.h>
#include <trine/krylov.h>
#endif
