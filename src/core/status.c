/* Status texts and the sentence of this thread's last failure. */
#include <stdarg.h>
#include <stdio.h>

#include <trine/core.h>

static _Thread_local char last_error[512];

trine_status trine_fail(trine_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last_error, sizeof last_error, format, args);
    va_end(args);
    return status;
}

const char *trine_last_error(void) { return last_error; }

const char *trine_status_string(trine_status status)
{
#define TRINE_X(name, text) text,
    static const char *const texts[] = {TRINE_STATUS_LIST(TRINE_X)};
#undef TRINE_X
    return (unsigned)status < TRINE_STATUS_COUNT ? texts[status] : "unknown status";
}
