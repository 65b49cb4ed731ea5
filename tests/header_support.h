/* The public functions as the headers declare them, for tests that must leave none out. */
#ifndef TRINE_HEADER_SUPPORT_H
#define TRINE_HEADER_SUPPORT_H

/** Call `visit` with the name of every function of include/trine and of include/tridigpu.h and with its declaration,
 *  from TRINE_API to the semicolon; names that a macro completes keep their ##. direct.h is left out where
 *  libtrine_direct is not built. */
typedef void (*header_visit)(void *user, const char *name, const char *declaration);
void visit_public_functions(header_visit visit, void *user);

#endif
