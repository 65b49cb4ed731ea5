/* One JSON object a line; the keys are described in schema.json. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "commit.h"

const char *bench_dtype_name(trine_dtype t)
{
    static const char *const names[] = {"?", "s", "d", "c", "z"};
    return names[trine_dtype_size(t) ? t : 0];
}

trine_dtype bench_dtype_of(const char *name)
{
    return *name == 's' ? TRINE_S : *name == 'c' ? TRINE_C : *name == 'z' ? TRINE_Z : TRINE_D;
}

bench_record bench_record_begin(const char *suite, const char *matrix)
{
    return (bench_record){.suite = suite,
                          .matrix = matrix,
                          .op = TRINE_N,
                          .nrhs = 1,
                          .n = -1,
                          .nnz = -1,
                          .bytes = -1,
                          .analyse_ms = NAN,
                          .numeric_ms = NAN,
                          .solve_ms = NAN,
                          .solve_min_ms = NAN,
                          .error = NAN};
}

void bench_record_add_number(bench_record *r, const char *key, double number)
{
    if (r->n_added == (int)(sizeof r->added / sizeof *r->added)) abort(); /* a suite's mistake, seen in its first run */
    r->added[r->n_added].key = key;
    r->added[r->n_added].text = NULL;
    r->added[r->n_added++].number = number;
}

void bench_record_add_text(bench_record *r, const char *key, const char *text)
{
    bench_record_add_number(r, key, NAN);
    r->added[r->n_added - 1].text = text;
}

void bench_record_fail(bench_record *r, bench_outcome outcome, const char *format, ...)
{
    r->status = outcome;
    if (!format) {
        snprintf(r->reason, sizeof r->reason, "%s", trine_last_error());
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->reason, sizeof r->reason, format, arguments);
    va_end(arguments);
}

void bench_record_solve(bench_record *r, const bench_time *time, double error, double most)
{
    r->solve_ms = time->median;
    r->solve_min_ms = time->min;
    r->reps = time->reps;
    r->error = error;
    if (!(error < most)) bench_record_fail(r, BENCH_FAILED, "the backward error is %.3g eps", error);
}

static void write_text(FILE *f, const char *key, const char *text)
{
    fprintf(f, ", \"%s\": ", key);
    if (!text) {
        fputs("null", f);
        return;
    }
    fputc('"', f);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\') fprintf(f, "\\%c", c);
        else if (c < 0x20) fprintf(f, "\\u%04x", c);
        else fputc(c, f);
    }
    fputc('"', f);
}

static void write_number(FILE *f, const char *key, double x)
{
    if (isfinite(x)) fprintf(f, ", \"%s\": %.7g", key, x);
    else fprintf(f, ", \"%s\": null", key);
}

static void write_count(FILE *f, const char *key, int64_t x)
{
    if (x >= 0) fprintf(f, ", \"%s\": %lld", key, (long long)x);
    else fprintf(f, ", \"%s\": null", key);
}

trine_status bench_record_write(bench *b, const bench_record *r)
{
    static const char *const outcomes[] = {"ok", "skipped", "failed"};
    if (r->status == BENCH_FAILED) b->failures++;
    if (!b->json) return TRINE_SUCCESS;

    FILE *f = b->json;
    char date[32];
    time_t now = time(NULL);
    struct tm utc;
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));

    const struct {
        const char *key, *text;
    } texts[] = {{"matrix", r->matrix},
                 {"dtype", r->dtype ? bench_dtype_name(r->dtype) : NULL},
                 {"op", r->op == TRINE_T   ? "T"
                        : r->op == TRINE_H ? "H"
                                           : "N"},
                 {"uplo", r->uplo == TRINE_LOWER   ? "lower"
                          : r->uplo == TRINE_UPPER ? "upper"
                                                   : NULL},
                 {"direction", r->direction},
                 {"impl", r->impl},
                 {"method", r->method},
                 {"chosen", r->chosen},
                 {"sweep", b->sweep},
                 {"status", outcomes[r->status]},
                 {"reason", r->reason[0] ? r->reason : NULL}};
    const struct {
        const char *key;
        int64_t count;
    } counts[] = {{"n", r->n}, {"nnz", r->nnz}, {"nrhs", r->nrhs}, {"bytes", r->bytes}, {"reps", r->reps}};
    const struct {
        const char *key;
        double number;
    } numbers[] = {{"analyse_ms", r->analyse_ms},     {"numeric_ms", r->numeric_ms}, {"solve_ms", r->solve_ms},
                   {"solve_min_ms", r->solve_min_ms}, {"error", r->error},           {"copy_gbs", b->copy_gbs}};
    fprintf(f, "{\"suite\": \"%s\"", r->suite);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) write_text(f, texts[i].key, texts[i].text);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) write_count(f, counts[i].key, counts[i].count);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) write_number(f, numbers[i].key, numbers[i].number);
    for (int i = 0; i < r->n_added; i++) {
        if (r->added[i].text) write_text(f, r->added[i].key, r->added[i].text);
        else write_number(f, r->added[i].key, r->added[i].number);
    }
    write_text(f, "device", b->device_name);
    write_text(f, "device_full", b->device.name);
    write_text(f, "commit", TRINE_COMMIT);
    write_text(f, "date", date);
    fputs("}\n", f);
    if (fflush(f) != 0 || ferror(f)) return trine_fail(TRINE_ERR_IO, "cannot write the records: the disk may be full");
    return TRINE_SUCCESS;
}
