/* Choices that were measured on a device, by name: kept by the context, written to files and read from them. A file has
 * the line "trine choices 1", then lines "device TAB name TAB choice"; the last one of a device and a name holds. */
#ifndef TRINE_CORE_CHOICES_H
#define TRINE_CORE_CHOICES_H

#include "core/internal.h"
#include "core/test_interface.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TRINE_CHOICE_BYTES = 128 }; /* of a device, a name, a choice, each with its zero */

struct trine_choice {
    struct trine_choice *next;
    char name[TRINE_CHOICE_BYTES], choice[TRINE_CHOICE_BYTES];
};

void trine_choices_free(trine_context ctx);

#ifdef __cplusplus
}
#endif
#endif
